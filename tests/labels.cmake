# SPDX-License-Identifier: GPL-2.0-only
# label_test(TEST LABEL...): sets a test's labels, and adds
#   alone   if it and another test that observes a process would disturb each other; only pure tests run beside it
#   timing  if it measures: timing.csv names these tests (tests/gate/trials.py says what follows from it)
#   long    if it is not in the gate, but in `tests/run long`: long.csv names it with "no"
#   longer  if long.csv names it otherwise: that part runs it with CORRELATOR_LONG=1, which asks for all of it
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/timing.csv timing_tests)
list(TRANSFORM timing_tests REPLACE ",.*" "")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/long.csv long_tests)
set(longer_tests ${long_tests})
list(FILTER long_tests INCLUDE REGEX "^[^,]*,no,")
list(FILTER longer_tests EXCLUDE REGEX "^[^,]*,no,")
list(TRANSFORM long_tests REPLACE ",.*" "")
list(TRANSFORM longer_tests REPLACE ",.*" "")

# They look at all Rubies of the machine (--all-ruby) or at all files that the kernel probes, measure how soon
# something comes, or want all of the machine.
set(alone_tests
    live.attach_test
    live.container_test
    live.files_test
    live.otel_test
    live.privileges_test
    live.report_test
    live.service_test
    law.hostile_cost_test
    law.many_test
    law.neighbours_test
    law.overload_test
    law.room_test
    soak.year_test)

# They begin first: what is long and begins last has half of the machine idle. A fresh clone does not know yet what
# took long.
set(slow_tests
    law.books_test
    law.hostile_test
    law.kills_test
    law.lifecycle_test
    law.returns_test
    law.stale_test
    live.builds_test
    live.children_test
    live.doctor_test
    live.libc_test
    live.output_test
    live.split_test
    live.stacks_test
    live.syscalls_test
    live.timeline_test
    live.top_test)

function(label_test test)
	set(labels ${ARGN})
	foreach(label alone timing long longer)
		if(test IN_LIST ${label}_tests)
			list(APPEND labels ${label})
		endif()
	endforeach()
	if(test IN_LIST alone_tests)
		set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
	endif()
	if(test IN_LIST slow_tests)
		set_tests_properties(${test} PROPERTIES COST 100)
	endif()
	# Some of them go on for ten minutes by themselves.
	if(test IN_LIST longer_tests)
		set_tests_properties(${test} PROPERTIES TIMEOUT 1800)
	endif()
	# Two of them fill the machine.
	if(test IN_LIST timing_tests)
		set_tests_properties(${test} PROPERTIES PROCESSORS 2)
	endif()
	set_tests_properties(${test} PROPERTIES LABELS "${labels}")
endfunction()
