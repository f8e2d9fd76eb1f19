package bootstream

import (
	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// unkept is what could not be kept on disk yet. A full disk does not keep a boot server from following: machines are answered from memory,
// what is missing on disk is tried again at each heartbeat, and until then the position on disk stays where it was, so that a restart asks
// for all that is missing.
type unkept struct {
	keeper Keeper // nil: nothing is kept
	logger logr.Logger
	// records are the newest of each key, by epoch.
	records map[string]map[string]*streampb.Record
	err     error
}

// append keeps records, or remembers them where that fails.
func (u *unkept) append(epoch string, records []*streampb.Record) {
	if u.keeper == nil || len(records) == 0 {
		return
	}
	if u.err == nil {
		if u.err = u.keeper.Append(epoch, records); u.err == nil {
			return
		}
		u.logger.Info("boot view not kept on disk", "error", u.err)
	}
	for _, r := range records {
		u.remember(epoch, r)
	}
}

func (u *unkept) remember(epoch string, r *streampb.Record) {
	if u.records == nil {
		u.records = map[string]map[string]*streampb.Record{}
	}
	if u.records[epoch] == nil {
		u.records[epoch] = map[string]*streampb.Record{}
	}
	for other, of := range u.records {
		if other != epoch {
			delete(of, r.Key)
		}
	}
	u.records[epoch][r.Key] = r
}

// current keeps how far the boot server has come, once everything up to there is kept.
func (u *unkept) current(p Progress) {
	if u.keeper == nil {
		return
	}
	failed := u.err != nil
	if u.err = u.retry(); u.err == nil {
		u.err = u.keeper.Current(p)
	}
	switch {
	case u.err == nil && failed:
		u.logger.Info("boot view kept on disk again")
	case u.err != nil && !failed:
		u.logger.Info("boot view not kept on disk", "error", u.err)
	}
}

// retry keeps what could not be kept before.
func (u *unkept) retry() error {
	for epoch, of := range u.records {
		records := make([]*streampb.Record, 0, len(of))
		for _, r := range of {
			records = append(records, r)
		}
		if len(records) > 0 {
			if err := u.keeper.Append(epoch, records); err != nil {
				return err
			}
		}
		delete(u.records, epoch)
	}
	return nil
}
