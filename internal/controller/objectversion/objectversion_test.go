package objectversion_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controller/objectversion"
)

func TestNewest(t *testing.T) {
	of := func(version string) metav1.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	for name, test := range map[string]struct {
		objects []metav1.Object
		want    uint64
	}{
		"nothing":                       {nil, 0},
		"nothing that is there":         {[]metav1.Object{nil, (*corev1.Secret)(nil)}, 0},
		"a number is more, not longer":  {[]metav1.Object{of("9"), of("10")}, 10},
		"whatever the order":            {[]metav1.Object{of("10"), nil, of("9")}, 10},
		"what is not a number is older": {[]metav1.Object{of(""), of("abc"), of("1")}, 1},
		"all 64 bits":                   {[]metav1.Object{of("18446744073709551615")}, 1<<64 - 1},
	} {
		if got := objectversion.Newest(test.objects...); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
