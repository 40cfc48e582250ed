#include "target/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	SEGMENTS_MAX = 1024,
	SECTIONS_MAX = SHN_LORESERVE - 1, /* above it, e_shnum is 0 and the count elsewhere */
};

int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t used = 0;

	if (offset > file->size_bytes || size_bytes > file->size_bytes - offset)
		return -EFAULT;
	if (file->fd < 0) {
		memcpy(buffer, file->buffer + offset, size_bytes);
		return 0;
	}
	while (used < size_bytes) {
		ssize_t got = pread(file->fd, (char *)buffer + used, size_bytes - used,
				    (off_t)(offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EFAULT;
		used += (size_t)got;
	}
	return 0;
}

/* Before libelf sees it: libelf allocates by these counts. */
static bool is_plausible_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (header->e_phnum > SEGMENTS_MAX ||
	    (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)))
		return false;
	if (header->e_shoff == 0)
		return header->e_shnum == 0;
	return header->e_shnum > 0 && header->e_shnum <= SECTIONS_MAX &&
	       header->e_shentsize == sizeof(Elf64_Shdr);
}

static int read_header(struct elf_file *file)
{
	int r = elf_file_read(file, 0, &file->header, sizeof(file->header));

	if (r < 0)
		return r == -EFAULT ? -ENOEXEC : r;
	return is_plausible_header(&file->header) ? 0 : -ENOEXEC;
}

int elf_file_init(struct elf_file *ret_file, int fd)
{
	_cleanup_fd_ int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct elf_file file = { .fd = own_fd };
	struct stat status;
	int r;

	if (own_fd < 0 || fstat(own_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file.size_bytes = (uint64_t)status.st_size;
	r = read_header(&file);
	if (r < 0)
		return r;
	*ret_file = file;
	(void)TAKE_FD(own_fd);
	return 0;
}

int elf_file_init_memory(struct elf_file *ret_file, const void *buffer, size_t size_bytes)
{
	struct elf_file file = { .fd = -1, .buffer = buffer, .size_bytes = size_bytes };
	int r = read_header(&file);

	if (r < 0)
		return r;
	*ret_file = file;
	return 0;
}

void elf_file_deinit(struct elf_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}
