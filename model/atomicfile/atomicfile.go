// Package atomicfile writes files that are either whole or absent: content goes to a temporary file in the same folder,
// is synced, and is renamed over the target. A reader, a crash or a full disk never meets half a file.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces path with what fill writes. The folder must exist. A symbolic link at path is refused, not followed.
// On any error, fill's own included, path is left as it was and the temporary file is removed.
func Write(path string, fill func(w io.Writer) error) (err error) {
	if info, statErr := os.Lstat(path); statErr == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: exists and is not a regular file; it is not overwritten", path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(tmp.Name())))
		}
	}()
	if err = fill(tmp); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err = errors.Join(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// WriteBytes is Write with the content at hand.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
