# SPDX-License-Identifier: GPL-2.0-only
# compile_bpf(): for the programs here and those of tests/bpf.
find_program(CLANG NAMES clang REQUIRED)
find_program(BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

# The libc headers of the build machine, for <linux/types.h> and its asm/ part.
execute_process(
	COMMAND ${CLANG} -print-multiarch
	OUTPUT_VARIABLE multiarch
	OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT multiarch)
	set(multiarch ${CMAKE_LIBRARY_ARCHITECTURE})
endif()

set(bpf_flags
    -g
    -O2
    -std=gnu11
    -target
    bpf
    -mcpu=v3
    -Wall
    -Wextra
    -Wno-unused-parameter
    -I${CMAKE_SOURCE_DIR}/include
    -I${CMAKE_CURRENT_LIST_DIR}
    -isystem
    /usr/include/${multiarch})
if(CORRELATOR_WERROR)
	list(APPEND bpf_flags -Werror)
endif()

# compile_bpf(<object> <source> <arch>)
function(compile_bpf object source arch)
	add_custom_command(
		OUTPUT ${object}
		COMMAND ${CLANG} ${bpf_flags} -D__TARGET_ARCH_${arch} -MMD -MF ${object}.d -c ${source} -o
			${object}
		DEPENDS ${source}
		DEPFILE ${object}.d
		COMMENT "BPF ${arch}: ${source}"
		VERBATIM)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
	set(bpf_arch arm64)
else()
	set(bpf_arch x86)
endif()
