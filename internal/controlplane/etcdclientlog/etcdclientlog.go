package etcdclientlog

import "go.etcd.io/etcd/client/pkg/v3/logutil"

func init() {
	logutil.DefaultZapLoggerConfig.OutputPaths = nil
	logutil.DefaultZapLoggerConfig.ErrorOutputPaths = nil
}
