// Package sealed keeps logs on disk that only the holder of a key can read, and that nobody can change unnoticed.
//
// A log is a header and frames. One Append writes one frame and is durable when it returns:
//
//	header  magic, version, purpose, salt, key check, CRC-32
//	frame   nonce | length | tag of both        the nonce's last bit is 0
//	        payload, sealed                     the nonce's last bit is 1
//
// The key is derived (HKDF-SHA-256, RFC 5869) from the content of the key file, the salt of the file and its purpose, so each file has
// its own, and a frame of another file is not authentic in this one. AES-256-GCM seals frames. Both tags cover the index of the frame:
// frames cannot be reordered, repeated or left out. The length has a tag of its own, so that a changed length is not mistaken for
// the end of the file.
//
// A nonce never repeats under a key (NIST SP 800-38D §8.2.1): eight random bytes for each time that a file is opened, and a counter that
// attempts which failed also advance. The index alone would not do: a frame that a crash cut off and the one that is written in its place have
// the same index.
//
// # What may be lost
//
// A crash leaves at most one frame unfinished, the last one, and nobody was told that it is durable. Open drops it: it ends before its length,
// or in zeros, which is what a file system leaves that has extended a file and not written it yet. Everything else that is not authentic
// is damage (DamageError), and then nothing of the file is used. What a log cannot tell is an older state of itself: whoever can write to
// the directory can put an earlier copy there, or cut off whole frames at the end. Those who use a log have to bear that.
//
// A whole log is replaced by a Draft: written aside, renamed when it is complete.
package sealed
