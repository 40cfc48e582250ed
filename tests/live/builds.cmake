# SPDX-License-Identifier: GPL-2.0-only
# The gem, and a stand-in for upstream's, as other compilers and flags make them: BUILD/builds/NAME
# goes in front of ruby's load path. Not sanitized, like gems. See builds_test.py.
execute_process(
	COMMAND ${RUBY} -rrbconfig -e
		"print RbConfig::CONFIG.values_at('rubyhdrdir', 'rubyarchhdrdir', 'LIBRUBYARG_SHARED').join(';')"
	OUTPUT_VARIABLE ruby_config COMMAND_ERROR_IS_FATAL ANY)
list(GET ruby_config 0 ruby_headers)
list(GET ruby_config 1 ruby_arch_headers)
list(GET ruby_config 2 ruby_library)
set(gem_flags -std=gnu11 -O2 -g -fPIC -w -I${ruby_headers} -I${ruby_arch_headers})
file(GLOB own_gem CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ruby/ext/correlator/*.c
     ${CMAKE_SOURCE_DIR}/ruby/ext/correlator/*.h)
set(upstream_gem ${CMAKE_SOURCE_DIR}/ruby/test/profiler_stand_in/profiler_stand_in.c)
# As its extconf.rb.
set(own_gem_flags -fvisibility=hidden -fno-omit-frame-pointer -fno-optimize-sibling-calls)

# add_build(NAME own|upstream OUTPUT COMPILER FLAG...)
function(add_build name gem output compiler)
	set(path ${CMAKE_BINARY_DIR}/builds/${name}/${output})
	get_filename_component(folder ${path} DIRECTORY)
	set(sources ${${gem}_gem})
	list(FILTER sources INCLUDE REGEX "\\.c$")
	add_custom_command(
		OUTPUT ${path}
		COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
		COMMAND ${compiler} -shared ${gem_flags} ${${gem}_gem_flags} ${ARGN} -o ${path} ${sources}
		DEPENDS ${${gem}_gem}
		VERBATIM)
	set_property(GLOBAL APPEND PROPERTY gem_builds ${path})
endfunction()

function(add_builds compiler_name compiler)
	foreach(protection none full)
		set(flags -fcf-protection=${protection})
		set(name ${compiler_name}_${protection})
		add_build(own_${name} own correlator/correlator.so ${compiler} ${flags})
		add_build(upstream_${name} upstream profiler_stand_in.so ${compiler} ${flags})
		add_build(upstream_${name}_stripped upstream profiler_stand_in.so ${compiler} ${flags} -s)
	endforeach()
endfunction()

add_builds(gcc gcc)
add_builds(clang clang)
# As Ubuntu's Ruby links extensions.
add_build(own_symbolic own correlator/correlator.so gcc -Wl,-Bsymbolic-functions)
add_build(own_stripped own correlator/correlator.so gcc -s)
add_build(own_initial_exec own correlator/correlator.so gcc -ftls-model=initial-exec)
add_build(own_descriptor own correlator/correlator.so gcc -mtls-dialect=gnu2)
add_build(upstream_descriptor_stripped upstream profiler_stand_in.so gcc -mtls-dialect=gnu2 -s)
add_build(upstream_initial_exec_stripped upstream profiler_stand_in.so gcc
	  -ftls-model=initial-exec -s)

set(embedded ${CMAKE_BINARY_DIR}/builds/embedded/ruby)
set(sources ${own_gem})
list(FILTER sources INCLUDE REGEX "\\.c$")
add_custom_command(
	OUTPUT ${embedded}
	COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/builds/embedded
	COMMAND gcc ${gem_flags} -fPIE -pie ${own_gem_flags} -o ${embedded}
		${CMAKE_SOURCE_DIR}/fixtures/embedded_ruby.c ${sources} ${ruby_library} -lm
	DEPENDS ${own_gem} ${CMAKE_SOURCE_DIR}/fixtures/embedded_ruby.c
	VERBATIM)

get_property(gem_builds GLOBAL PROPERTY gem_builds)
add_custom_target(gem_builds ALL DEPENDS ${gem_builds} ${embedded})

# A program like Ruby for each libc: the variable in a library, or its own, dynamically or statically
# linked. Without musl-gcc there are none of musl's.
find_program(MUSL_GCC musl-gcc)
set(fake_ruby ${CMAKE_SOURCE_DIR}/fixtures/fake_ruby.c)
set(publisher ${CMAKE_SOURCE_DIR}/fixtures/publisher.c)
set(fake_flags -std=gnu11 -O2 -g -Wall -Wextra)
function(add_fake name compiler)
	set(path ${CMAKE_BINARY_DIR}/fakes/${name})
	add_custom_command(
		OUTPUT ${path}
		COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fakes
		COMMAND ${compiler} ${fake_flags} ${ARGN} -o ${path}
		DEPENDS ${fake_ruby} ${publisher} ${CMAKE_SOURCE_DIR}/fixtures/publisher.h
		VERBATIM)
	set_property(GLOBAL APPEND PROPERTY fakes ${path})
endfunction()
function(add_fakes libc compiler)
	add_fake(${libc}_library.so ${compiler} -shared -fPIC ${publisher})
	add_fake(${libc}_loads ${compiler} -fPIE -pie ${fake_ruby} -pthread)
	add_fake(${libc}_inside ${compiler} -fPIE -pie -DPUBLISHER_INSIDE ${fake_ruby} ${publisher}
		 -pthread)
	add_fake(${libc}_static ${compiler} -static -w -DPUBLISHER_INSIDE ${fake_ruby} ${publisher}
		 -pthread)
endfunction()
add_fakes(glibc gcc)
# Where no probe can sit.
add_fake(libcrowd.so gcc -shared -fPIC -DPUBLISHER_CROWD ${publisher})
add_fake(no_site.so gcc -shared -fPIC -DPUBLISHER_SETTER ${publisher}
	 -L${CMAKE_BINARY_DIR}/fakes -lcrowd -Wl,-rpath,$ORIGIN)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/fakes/no_site.so
		   DEPENDS ${CMAKE_BINARY_DIR}/fakes/libcrowd.so APPEND)
if(MUSL_GCC)
	add_fakes(musl ${MUSL_GCC})
endif()
get_property(fakes GLOBAL PROPERTY fakes)
add_custom_target(fake_rubies ALL DEPENDS ${fakes})
