// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "keys.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

/* A process whose standard input is a terminal that the test holds the other end of. */
class Session {
public:
	/* @background: another process group has the terminal. @ignored: a signal */
	explicit Session(bool background = false, int ignored = 0)
		: master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC))
	{
		grantpt(master_);
		unlockpt(master_);
		const std::string name = ptsname(master_);
		/* Else the terminal ends with its last user. */
		slave_ = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
		echo_before_ = echo();
		leader_ = fork();
		if (!leader_)
			lead(name, background, ignored);
		/* It is told when the terminal has been taken, or left alone. */
		if (background)
			usleep(300000);
		else
			for (int i = 0; i < 500 && echo(); i++)
				usleep(10000);
	}
	~Session()
	{
		kill(leader_, SIGKILL);
		waitpid(leader_, nullptr, 0);
		close(slave_);
		close(master_);
	}
	Session(const Session &) = delete;
	Session &operator=(const Session &) = delete;

	[[nodiscard]] bool echo() const
	{
		termios now = {};

		tcgetattr(slave_, &now);
		return now.c_lflag & ECHO;
	}
	[[nodiscard]] bool echo_before() const
	{
		return echo_before_;
	}
	void type(char key) const
	{
		EXPECT_EQ(write(master_, &key, 1), 1);
	}
	void signal(int number) const
	{
		kill(leader_, number);
	}
	/* How it has ended or stopped. */
	[[nodiscard]] int status() const
	{
		int status = -1;

		waitpid(leader_, &status, WUNTRACED);
		return status;
	}

private:
	static int wait_for_keys()
	{
		Keys keys;

		return keys.wait(2) ? 7 : 8;
	}

	[[noreturn]] static void lead(const std::string &name, bool background,
				      int ignored)
	{
		/* The tests themselves may run in the background. */
		for (const int number : { SIGHUP, SIGINT, SIGQUIT, SIGPIPE })
			std::signal(number,
				    number == ignored ? SIG_IGN : SIG_DFL);
		setsid();
		const int slave = open(name.c_str(), O_RDWR);
		ioctl(slave, TIOCSCTTY, 0);
		dup2(slave, STDIN_FILENO);
		if (!background)
			_exit(wait_for_keys());
		const pid_t child = fork();
		if (!child) {
			setpgid(0, 0);
			_exit(wait_for_keys());
		}
		int status = -1;
		waitpid(child, &status, WUNTRACED);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
	}

	int master_;
	int slave_ = -1;
	pid_t leader_ = -1;
	bool echo_before_ = false;
};

} // namespace

TEST(keys, the_terminal_is_given_back)
{
	for (const int number : { SIGTERM, SIGHUP, SIGPIPE, SIGINT }) {
		const Session s;

		EXPECT_TRUE(s.echo_before());
		EXPECT_FALSE(s.echo());
		s.signal(number);
		const int status = s.status();
		EXPECT_TRUE(WIFSIGNALED(status)) << number;
		EXPECT_EQ(WTERMSIG(status), number);
		EXPECT_TRUE(s.echo()) << number;
	}
}

TEST(keys, q_and_control_c)
{
	for (const char key : { 'q', '\3' }) {
		const Session s;

		s.type(key);
		const int status = s.status();
		if (key == 'q')
			EXPECT_EQ(WEXITSTATUS(status), 8);
		else
			EXPECT_EQ(WTERMSIG(status), SIGINT);
		EXPECT_TRUE(s.echo());
	}
}

TEST(keys, what_is_ignored_stays_so)
{
	const Session s(false, SIGHUP);

	s.signal(SIGHUP);
	EXPECT_EQ(WEXITSTATUS(s.status()), 7);
	EXPECT_TRUE(s.echo());
}

TEST(keys, stopped_and_continued)
{
	const Session s;

	s.signal(SIGTSTP);
	EXPECT_TRUE(WIFSTOPPED(s.status()));
	EXPECT_TRUE(s.echo());
	s.signal(SIGCONT);
	EXPECT_EQ(WEXITSTATUS(s.status()), 7);
	EXPECT_TRUE(s.echo());
}

/* It goes on, and whoever has the terminal does not notice. */
TEST(keys, in_the_background)
{
	const Session s(true);

	EXPECT_TRUE(s.echo());
	EXPECT_EQ(WEXITSTATUS(s.status()), 7);
}

} // namespace rpcrdmactl
