package bmc_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestTask(t *testing.T) {
	const monitor = "/redfish/v1/TaskService/TaskMonitors/7"
	answer := func(status int, body bmctest.Resource) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { bmctest.JSON(w, status, body) }
	}
	for _, test := range []struct {
		name   string
		maker  string
		answer http.HandlerFunc
		want   bmc.Task
		kind   bmc.Kind
	}{
		{"goes on", "", answer(202, bmctest.Resource{}), bmc.Task{URI: monitor, State: bmc.TaskRunning}, ""},
		{
			"goes on, and is shown", "", answer(202, bmctest.Resource{"@odata.id": "/t/7", "TaskState": "Pending", "PercentComplete": 40, "Messages": []any{bmctest.Resource{"Message": "words"}}}),
			bmc.Task{URI: "/t/7", State: bmc.TaskRunning, Said: "Pending", Percent: 40, Message: "words"}, "",
		},
		{"ended", "", answer(200, bmctest.Resource{"@odata.id": "/what/it/made"}), bmc.Task{URI: monitor, State: bmc.TaskCompleted, Percent: 100}, ""},
		{"ended without a word", "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, bmc.Task{URI: monitor, State: bmc.TaskCompleted, Percent: 100}, ""},
		{
			"failed", "", func(w http.ResponseWriter, _ *http.Request) {
				bmctest.Fail(w, 400, "Base.1.8.ActionParameterNotSupported")
			},
			bmc.Task{URI: monitor, State: bmc.TaskFailed, Message: "Words of Base.1.8.ActionParameterNotSupported."}, "",
		},
		{"ended badly", "", answer(200, bmctest.Resource{"TaskState": "Completed", "TaskStatus": "Critical"}), bmc.Task{URI: monitor, State: bmc.TaskFailed, Said: "Completed"}, ""},
		{"killed", "", answer(200, bmctest.Resource{"TaskState": "Killed"}), bmc.Task{URI: monitor, State: bmc.TaskFailed, Said: "Killed"}, ""},
		{"BMC is busy", "", func(w http.ResponseWriter, _ *http.Request) {
			bmctest.Fail(w, 503, "Base.1.8.ServiceTemporarilyUnavailable")
		}, bmc.Task{}, bmc.KindServer},
		{"is no more", "", func(w http.ResponseWriter, _ *http.Request) { bmctest.Fail(w, 404, "x") }, bmc.Task{}, bmc.KindRejected},
		{
			"is a job now", "Lenovo", func(w http.ResponseWriter, _ *http.Request) { bmctest.Fail(w, 404, "x") },
			bmc.Task{URI: "/redfish/v1/JobService/Jobs/7", ID: "7", State: bmc.TaskCompleted, Said: "Completed"}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			vendor(test.maker)(s)
			s.Handle("GET "+monitor, test.answer)
			s.Set("/redfish/v1/JobService/Jobs/7", bmctest.Resource{"@odata.id": "/redfish/v1/JobService/Jobs/7", "Id": "7", "JobState": "Completed"})
			c := client(t, s)
			if _, err := c.System(t.Context(), bmctest.System); err != nil {
				t.Fatal(err)
			}
			got, err := c.Task(t.Context(), monitor)
			if bmc.KindOf(err) != test.kind {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

// A task whose URI nobody wrote down is found in the task service.
func TestTasks(t *testing.T) {
	const at = "/redfish/v1/TaskService/Tasks"
	s := bmctest.New(t)
	s.Set("/redfish/v1/TaskService", bmctest.Resource{"Tasks": bmctest.Ref(at)})
	s.Set(at, bmctest.Collection(at, at+"/1", at+"/gone", at+"/2"))
	s.Set(at+"/1", bmctest.Resource{"@odata.id": at + "/1", "Id": "1", "Name": "Update", "TaskState": "Running"})
	s.Set(at+"/2", bmctest.Resource{"@odata.id": at + "/2", "Id": "2", "Name": "Update", "JobState": "Completed"})
	got, err := client(t, s).Tasks(t.Context())
	want := []bmc.Task{
		{URI: at + "/1", ID: "1", Name: "Update", State: bmc.TaskRunning, Said: "Running"},
		{URI: at + "/2", ID: "2", Name: "Update", State: bmc.TaskCompleted, Said: "Completed"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("tasks (-want +got):\n%s%v", diff, err)
	}
}
