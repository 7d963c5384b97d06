package wire

import (
	"errors"

	"rota/internal/storage"
)

// leastFile is how many bytes of a file are worth a system call of their own.
const leastFile = 16 << 10

// errNotSent says that the system does not send such a file, and that nothing of
// it has left.
var errNotSent = errors.New("the file can only be read")

// sendFile writes the step, and then has the system send what st has in a file.
// It returns how much that was: 0 if st has to be read.
func (s *stepper) sendFile(st storage.Stretch) (n int, err error) {
	c := s.conn
	if !c.socket.files {
		return 0, nil
	}
	file, ok := st.(storage.FileStretch)
	if !ok {
		return 0, nil
	}
	fd, off, size := file.InFile()
	if size < leastFile {
		return 0, nil
	}
	c.socket.cork(true)
	if err := s.write(nil); err != nil {
		return 0, err
	}
	err = sendFile(c.socket.raw, fd, off, size, func(n int) {
		c.srv.sent.Add(int64(n))
		c.progress()
	})
	if errors.Is(err, errNotSent) {
		c.socket.files = false // it would be the same for the next part
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	file.Passed(size)
	return size, nil
}
