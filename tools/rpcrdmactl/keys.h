/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The keyboard of a terminal, for a program that waits between what it shows.
 */
#ifndef _RPCRDMACTL_KEYS_H
#define _RPCRDMACTL_KEYS_H

#include <csignal>
#include <termios.h>

namespace rpcrdmactl
{

/*
 * While it is there, standard input gives each key at once and does not show it, if it is a
 * terminal and this process is in its foreground. Signals that end or stop the process
 * take effect when the terminal is as it was before.
 */
class Keys {
public:
	/* Throws std::system_error. */
	Keys();
	/* A signal that has come meanwhile takes effect now. */
	~Keys();
	Keys(const Keys &) = delete;
	Keys &operator=(const Keys &) = delete;

	/**
	 * Wait for so many seconds.
	 *
	 * Return: false if it shall end: the key q, or a signal.
	 */
	[[nodiscard]] bool wait(double seconds);

private:
	void take_terminal();
	void give_back();
	bool take_signal();
	bool take_key();

	int signals_;
	sigset_t mask_before_ = {};
	termios before_ = {};
	bool terminal_ = false;
};

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_KEYS_H */
