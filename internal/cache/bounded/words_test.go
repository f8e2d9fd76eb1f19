package bounded

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func TestWordsAreKeptOnce(t *testing.T) {
	t.Parallel()
	w := NewWords(4)
	document := strings.Repeat("Enabled", 2)
	first, second := w.Once(document[:7]), w.Once(document[7:])
	if first != "Enabled" || unsafe.StringData(first) != unsafe.StringData(second) || unsafe.StringData(first) == unsafe.StringData(document) {
		t.Errorf("%q at %p and %p, in a document at %p", first, unsafe.StringData(first), unsafe.StringData(second), unsafe.StringData(document))
	}
	for i := range 10 { // what many have in common stays, whatever comes with it
		w.Once(strconv.Itoa(i))
		if got := w.Once("Enabled"); unsafe.StringData(got) != unsafe.StringData(first) {
			t.Fatalf("forgotten after %d others", i)
		}
	}
	if n := w.copies.Len(); n != 4 {
		t.Errorf("%d words are kept", n)
	}
	if w.Once("") != "" {
		t.Error("no word is none")
	}
	long := strings.Repeat("x", longest+1)
	if got := w.Once(long); got != long || unsafe.StringData(got) == unsafe.StringData(long) || w.copies.Len() != 4 {
		t.Error("a very long word is kept, or is what it was part of")
	}
}
