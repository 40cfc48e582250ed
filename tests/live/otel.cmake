# SPDX-License-Identifier: GPL-2.0-only
# The publisher of otel_test, in each way a variable can be reached; as tracers are: not sanitized.
include(CheckCCompilerFlag)
check_c_compiler_flag(-mtls-dialect=gnu2 HAS_TLS_DIALECT_GNU2)

function(set_otel_fixture name)
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	target_compile_options(${name} PRIVATE -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes
					       -Wmissing-prototypes ${ARGN})
	set_target_properties(
		${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fixtures
				   RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fixtures)
endfunction()

function(add_otel_publisher name)
	add_library(${name} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/../../fixtures/otel_publisher.c)
	set_otel_fixture(${name} -fPIC ${ARGN})
endfunction()

function(add_otel_workload name)
	list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/../../fixtures/ OUTPUT_VARIABLE sources)
	add_executable(${name} ${sources})
	set_otel_fixture(${name})
	set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
	target_link_libraries(${name} PRIVATE dl pthread)
endfunction()

add_otel_workload(otel_workload otel_workload.c)
# With the variable in the program itself: local exec.
add_otel_workload(otel_local_exec otel_workload.c otel_publisher.c)
add_otel_publisher(otel_general_dynamic)
add_otel_publisher(otel_initial_exec -ftls-model=initial-exec)
if(HAS_TLS_DIALECT_GNU2)
	add_otel_publisher(otel_descriptor_static -mtls-dialect=gnu2)
	add_otel_publisher(otel_descriptor_dynamic -mtls-dialect=gnu2 -DTLS_PADDING_WORDS=8192)
endif()
