// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "keys.h"

#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace rpcrdmactl
{

Keys::Keys()
{
	sigset_t held;

	sigemptyset(&held);
	/* Of SIGPIPE the next write tells, too. */
	for (const int signal :
	     { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP }) {
		struct sigaction now;
		/* As nohup(1) wants it. */
		if (!sigaction(signal, nullptr, &now) &&
		    now.sa_handler == SIG_IGN)
			continue;
		sigaddset(&held, signal);
	}
	sigprocmask(SIG_BLOCK, &held, &mask_before_);
	signals_ = signalfd(-1, &held, SFD_CLOEXEC);
	if (signals_ < 0) {
		const int error = errno;
		sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
		throw std::system_error(error, std::generic_category(),
					"signalfd");
	}
	take_terminal();
}

Keys::~Keys()
{
	give_back();
	close(signals_);
	sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

/* In the background the terminal belongs to another, and touching it would stop us. */
void Keys::take_terminal()
{
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &before_))
		return;
	termios now = before_;
	now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
	terminal_ = !tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

void Keys::give_back()
{
	/* Who has sent it to the background has set the terminal, too. */
	if (terminal_ && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSANOW, &before_);
	terminal_ = false;
}

/* Return: whether to go on. */
bool Keys::take_signal()
{
	signalfd_siginfo info;

	if (read(signals_, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo != SIGTSTP) {
		/* It is blocked, and comes again when it no longer is. */
		raise(static_cast<int>(info.ssi_signo));
		return false;
	}
	give_back();
	raise(SIGSTOP);
	take_terminal();
	return true;
}

bool Keys::take_key()
{
	char key = 0;

	return read(STDIN_FILENO, &key, 1) == 1 && key != 'q';
}

bool Keys::wait(double seconds)
{
	using Clock = std::chrono::steady_clock;
	const auto end = Clock::now() +
			 std::chrono::milliseconds(
				 static_cast<std::int64_t>(seconds * 1000));

	for (;;) {
		pollfd fds[] = { { signals_, POLLIN, 0 },
				 { STDIN_FILENO, POLLIN, 0 } };
		const auto left =
			std::chrono::duration_cast<std::chrono::milliseconds>(
				end - Clock::now())
				.count();
		const int ready = poll(fds, terminal_ ? 2 : 1,
				       left > 0 ? static_cast<int>(left) : 0);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return true;
		if (fds[0].revents && !take_signal())
			return false;
		if (terminal_ && fds[1].revents)
			return take_key();
	}
}

} // namespace rpcrdmactl
