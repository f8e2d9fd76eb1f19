// Package backup reads and writes the file of `farrier backup`.
//
// The file is a tar archive in gzip, and in age (age-encryption.org/v1) where it is encrypted:
//
//	farrier-backup.json   Header: what it is, of which format, and of when
//	etcd/000000 …         the snapshot of the store, in pieces
//	data/…                files of the data directory
//	sums.json             the SHA-256 of each of them: a file without it is truncated
//
// It is written under another name and renamed, and what is read is believed only after its sum was seen.
package backup
