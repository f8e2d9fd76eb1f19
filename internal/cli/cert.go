package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

const (
	day = 24 * time.Hour
	// mostDays keeps a lifetime within what a time.Duration holds, and longer than any authority.
	mostDays = 36500
)

// certs are the flags of all commands about the directory of certificates.
type certs struct {
	dir   string
	clock clock.PassiveClock
}

func newCert(times clock.PassiveClock) *cobra.Command {
	c := &certs{clock: times}
	cmd := &cobra.Command{
		Use:   "cert",
		Short: "Make, renew and list certificates of the boot stream",
		Long: `Keeps an authority and certificates of managers and boot servers in a directory of PEM files. A folder for each name has tls.crt,
tls.key and ca.crt, as cert-manager lays them (docs/boot-servers.md).`,
		Example: `  farrier cert init
  farrier cert issue boot-stream.farrier.example --manager
  farrier cert issue boot-1.north.example --site north
  farrier cert list`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.newInit(), c.newIssue(), c.newRenew(), c.newList(), newCertToken(times))
	return cmd
}

func (c *certs) bind(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&c.dir, "dir", "farrier-certificates", "directory of the certificates")
}

func (c *certs) open() (*authority.Dir, error) {
	dir, err := authority.OpenDir(c.dir, c.clock.Now())
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	return dir, nil
}

func (c *certs) newInit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make an authority",
		Long: `Makes an authority: ca.crt, which managers and boot servers trust, and ca.key, which signs their certificates. Whoever has ca.key can be
any of them. An authority that is there is not replaced.`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := authority.Init(c.dir, c.clock.Now())
			if err != nil {
				return fmt.Errorf("--dir: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "authority in %s until %s\n", c.dir, dir.Authority().Certificate().NotAfter.UTC().Format(time.DateOnly))
			return err
		},
	}
	c.bind(cmd)
	return cmd
}

func (c *certs) newIssue() *cobra.Command {
	var manager bool
	var site string
	days := int(authority.DefaultLifetime / day)
	cmd := &cobra.Command{
		Use:   "issue NAME",
		Short: "Make a key and a certificate for a boot server or a manager",
		Long: `Makes key and certificate for NAME, the DNS name by which a manager knows a boot server, or boot servers know the manager. --site is kept in
the directory to tell it the manager; it is not in the certificate.`,
		Example: `  farrier cert issue boot-1.north.example --site north
  farrier cert issue boot-stream.farrier.example --manager --days 365`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := peer.CheckName(args[0])
			if err != nil {
				return usage.Errorf("NAME: %w", err)
			}
			if err := peer.CheckSite(site); err != nil {
				return usage.Errorf("--site: %w", err)
			}
			if manager && site != "" {
				return usage.Errorf("--site: a manager has no site")
			}
			lifetime, err := lifetimeOf(days)
			if err != nil {
				return err
			}
			role := authority.BootServer
			if manager {
				role = authority.Manager
			}
			dir, err := c.open()
			if err != nil {
				return err
			}
			issued, err := dir.Issue(name, site, role, c.clock.Now(), lifetime)
			if errors.Is(err, authority.ErrExists) {
				return fmt.Errorf("%w: 'farrier cert renew %s' renews it", err, name)
			}
			if err != nil {
				return err
			}
			return c.issued(cmd.OutOrStdout(), dir, issued)
		},
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&manager, "manager", false, "make the certificate of a manager (default: of a boot server)")
	cmd.Flags().StringVar(&site, "site", "", "site of the boot server (default: none)")
	cmd.Flags().IntVar(&days, "days", days, "lifetime in days")
	return cmd
}

// issued says where a certificate is, and what a manager has to be told about it.
func (c *certs) issued(out io.Writer, dir *authority.Dir, issued authority.Certificate) error {
	if _, err := fmt.Fprintf(out, "%s %s in %s until %s\n", issued.Role, issued.Name, dir.Folder(issued.Name), issued.Expires.Format(time.DateTime)); err != nil {
		return err
	}
	if issued.Role != authority.BootServer {
		return nil
	}
	entry := issued.Name
	if issued.Site != "" {
		entry += "=" + issued.Site
	}
	_, err := fmt.Fprintf(out, "entry in the manager's table of boot servers: %s\n", entry)
	return err
}

func (c *certs) newRenew() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:   "renew [NAME...]",
		Short: "Renew certificates",
		Long: `Renews the certificates of these names, or without names those past two thirds of their lifetime, for the keys that they have. Managers and
boot servers read the files again within 10 s.`,
		Example: `  farrier cert renew
  farrier cert renew boot-1.north.example --days 30`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var lifetime time.Duration
			if cmd.Flags().Changed("days") {
				var err error
				if lifetime, err = lifetimeOf(days); err != nil {
					return err
				}
			}
			dir, err := c.open()
			if err != nil {
				return err
			}
			names, err := c.due(dir, args)
			if err != nil {
				return err
			}
			for _, name := range names {
				renewed, err := dir.Renew(name, c.clock.Now(), lifetime)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s renewed until %s\n", renewed.Role, renewed.Name, renewed.Expires.Format(time.DateTime))
			}
			if len(names) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "No certificate is past two thirds of its lifetime.")
			}
			return nil
		},
	}
	c.bind(cmd)
	cmd.Flags().IntVar(&days, "days", 0, "lifetime in days (default: that of the certificate before)")
	return cmd
}

// due are the names to renew: those that were named, or those whose time has come.
func (c *certs) due(dir *authority.Dir, args []string) (names []string, err error) {
	for _, arg := range args {
		name, err := peer.CheckName(arg)
		if err != nil {
			return nil, usage.Errorf("NAME: %w", err)
		}
		names = append(names, name)
	}
	if len(args) > 0 {
		return names, nil
	}
	list, err := dir.List()
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if !c.clock.Now().Before(l.RenewAt) {
			names = append(names, l.Name)
		}
	}
	return names, nil
}

func lifetimeOf(days int) (time.Duration, error) {
	if days < 1 || days > mostDays {
		return 0, usage.Errorf("--days: %d is not between 1 and %d", days, mostDays)
	}
	return time.Duration(days) * day, nil
}

// listedCert is one of those that `farrier cert list -o json` prints.
type listedCert struct {
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Site     string    `json:"site,omitempty"`
	Expires  time.Time `json:"expires"`
	DaysLeft int       `json:"daysLeft"`
	Serial   string    `json:"serial"`
}

func (c *certs) newList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List certificates and when they end",
		Long:  `Lists the certificates of the directory with the days that are left. Fewer than 0 days: the certificate has ended. Times are UTC.`,
		Args:  usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			dir, err := c.open()
			if err != nil {
				return err
			}
			list, err := dir.List()
			if printed := c.print(cmd.OutOrStdout(), output, list); printed != nil {
				return printed
			}
			return err // of the files that cannot be read
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table or json")
	return cmd
}

func (c *certs) print(out io.Writer, format string, list []authority.Certificate) error {
	listed := make([]listedCert, 0, len(list))
	for _, l := range list {
		left := int(math.Floor(l.Expires.Sub(c.clock.Now()).Hours() / 24))
		listed = append(listed, listedCert{l.Name, string(l.Role), l.Site, l.Expires, left, l.Serial})
	}
	if format == "json" {
		return printJSON(out, listed)
	}
	if len(listed) == 0 {
		_, err := fmt.Fprintln(out, "No certificate has been issued.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE\tSITE\tEXPIRES\tDAYS LEFT")
	for _, l := range listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", l.Name, l.Role, orDash(l.Site), l.Expires.Format(time.DateTime), l.DaysLeft)
	}
	return table.Flush()
}
