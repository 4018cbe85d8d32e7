# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The command cxx_o_cpp, for Kbuild and for the tests in the kernel. rpcrdma-top is the tree.
#
# Kbuild has no rule for C++. The core is compiled with the kernel's own code
# generation and sanitizer flags, but without its headers, of which it includes
# none, and without warnings that g++ does not know; it goes through objtool
# like any other object. BTF has no notion of C++, so debug data stays out.
rpcrdma-cxx-flags = $(filter-out -W% -std=% -include %compat.h -g% -nostdinc, \
			$(_c_flags) $(modkern_cflags)) \
	-std=c++20 -ffreestanding -fno-exceptions -fno-rtti \
	-fno-threadsafe-statics -fno-use-cxa-atexit -nostdinc++ -g0 \
	-Wall -Wextra -Werror=vla -Wframe-larger-than=1024 \
	$(if $(CONFIG_UBSAN),-fno-reorder-blocks-and-partition) \
	$(if $(CONFIG_KASAN)$(CONFIG_KCSAN),-DRPCRDMA_CHECKED) \
	-I$(rpcrdma-top)/include $(rpcrdma-list-flags)

quiet_cmd_cxx_o_cpp = CXX $(quiet_modtag)  $@
      cmd_cxx_o_cpp = $(CXX_FOR_KERNEL) -Wp,-MMD,$(depfile) \
		      $(rpcrdma-cxx-flags) -c -o $@ $< $(cmd_objtool)

# The C++ compiler that belongs to the C compiler of the kernel.
CXX_FOR_KERNEL ?= $(if $(CONFIG_CC_IS_CLANG),$(subst clang,clang++,$(CC)),$(subst gcc,g++,$(CC)))
