# SPDX-License-Identifier: GPL-2.0-only
# Compiles for arm64 with the tree that tests/kernels/images has made, CORRELATOR_SYSROOT.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORRELATOR_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT ${CORRELATOR_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
# mkmf, for what that tree's Ruby is compiled for.
file(GLOB rbconfig ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/ruby/*/rbconfig.rb)
set(CORRELATOR_EXTCONF --disable-gems -r${rbconfig} -r${CMAKE_CURRENT_LIST_DIR}/foreign_ruby.rb)
