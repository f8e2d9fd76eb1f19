package fulldisk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// filler is somebody else on the disk.
type filler struct {
	t    *testing.T
	path string
}

// ways are how a disk fills up.
var ways = []struct {
	name string
	fill func(*filler) *os.File
}{
	{"all at once", (*filler).allocate},
	{"as fast as it goes", (*filler).write},
	{"down to the last byte, again and again", (*filler).write},
}

// allocate takes in one call what is left.
func (f *filler) allocate() *os.File {
	file := f.open()
	for step := int64(1 << 30); step >= 4096; step /= 2 {
		for end := f.size(file); ; end += step {
			if err := syscall.Fallocate(int(file.Fd()), 0, end, step); err != nil {
				break
			}
		}
	}
	return file
}

// write writes until nothing can be written any more.
func (f *filler) write() *os.File {
	file, block := f.open(), make([]byte, 1<<20)
	for len(block) >= 512 {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			f.t.Error(err)
			return file
		}
	}
	return file
}

func (f *filler) open() *os.File {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		f.t.Error(err)
	}
	return file
}

func (f *filler) size(file *os.File) int64 {
	info, err := file.Stat()
	if err != nil {
		f.t.Error(err)
		return 0
	}
	return info.Size()
}

// greedy takes whatever anybody gives back, until it is released.
func (f *filler) greedy(file *os.File) (release func()) {
	stop, block := make(chan struct{}), make([]byte, 4096)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = file.Write(block)
			}
		}
	})
	return func() {
		close(stop)
		running.Wait()
	}
}

// fill fills the disk, and returns how to free it.
func fill(t *testing.T, disk string, way int) (free func()) {
	t.Helper()
	f := &filler{t: t, path: filepath.Join(disk, "filler")}
	file, release := ways[way].fill(f), func() {}
	if way == len(ways)-1 {
		release = f.greedy(file)
	}
	return func() {
		release()
		if err := errors.Join(file.Close(), os.Remove(f.path)); err != nil {
			t.Error(err)
		}
	}
}
