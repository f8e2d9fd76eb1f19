package objectversion

import (
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Newest returns the resource version of the newest of the objects, of which any may be nil; 0: there is none, or none with a number.
func Newest(objects ...metav1.Object) uint64 {
	var newest uint64
	for _, object := range objects {
		if v := reflect.ValueOf(object); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		if version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
}
