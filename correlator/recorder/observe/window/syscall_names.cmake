# SPDX-License-Identifier: GPL-2.0-only
# Writes the table of a header of system calls: a line SYSCALL_NAME(number, "name") each, by the
# compiler's own reading of it. An empty one where this machine has no such header.
#   cmake -DCOMPILER=cc -DHEADER=asm/unistd.h -DTABLE=native.h -P syscall_names.cmake
set(question ${TABLE}.c)
# x32's numbers have that bit set in the header, and not in our table.
set(flags -E -P -w -x c -D__X32_SYSCALL_BIT=0)
file(WRITE ${question} "#include <${HEADER}>\n")
execute_process(
	COMMAND ${COMPILER} ${flags} -dM ${question}
	OUTPUT_VARIABLE macros
	RESULT_VARIABLE failed
	ERROR_QUIET)
set(names)
if(NOT failed)
	string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ " names "${macros}")
endif()
file(WRITE ${question} "#include <${HEADER}>\n")
foreach(name ${names})
	string(REGEX REPLACE "#define __NR_([a-z0-9_]+) " "\\1" name "${name}")
	# What is no call: how many there are, and where a machine's own begin.
	if(NOT name STREQUAL "syscalls" AND NOT name STREQUAL "arch_specific_syscall")
		file(APPEND ${question} "SYSCALL_NAME(__NR_${name}, \"${name}\")\n")
	endif()
endforeach()
set(table)
if(names)
	execute_process(COMMAND ${COMPILER} ${flags} ${question} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
endif()
string(REGEX MATCHALL "SYSCALL_NAME[^\n]*" lines "${table}")
list(JOIN lines "\n" table)
file(WRITE ${TABLE} "${table}\n")
