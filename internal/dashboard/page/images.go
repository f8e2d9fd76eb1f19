package page

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// imagesPage lists the images that claims and boot configurations name, and what the cache has of them.
type imagesPage struct {
	Now     time.Time
	Rows    []imageRow
	More    int
	Unused  []CachedImage
	NotTold string
}

type imageRow struct {
	Image   string
	Digests []string
	Users   []imageUser
	Shown   []imageUser
	Wrong   string
	// Cached is what is kept of its repository; nil: nothing.
	Cached *CachedImage
}

// imageUser is who boots an image: a server by a claim or by something else.
type imageUser struct{ Server, Namespace, Claim string }

// MoreUsers is how many are not shown.
func (r imageRow) MoreUsers() int { return len(r.Users) - len(r.Shown) }

// mostUsers is how many users of an image are shown.
const mostUsers = 8

// Images lists images: by whom they are used, as which digest, and what is cached.
func Images(ctx context.Context, s Source) (View, error) {
	var claims metalv1.ServerClaimList
	if err := s.Objects.List(ctx, &claims); err != nil {
		return View{}, err
	}
	var configs metalv1.ServerBootConfigurationList
	if err := s.Objects.List(ctx, &configs); err != nil {
		return View{}, err
	}
	rows := map[string]*imageRow{}
	of := func(image string) *imageRow {
		if rows[image] == nil {
			rows[image] = &imageRow{Image: image}
		}
		return rows[image]
	}
	claimed := map[imageUser]bool{}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.Spec.Image == "" {
			continue
		}
		user := imageUser{Namespace: c.Namespace, Claim: c.Name}
		if c.Spec.ServerRef != nil {
			user.Server = c.Spec.ServerRef.Name
			claimed[imageUser{Namespace: c.Namespace, Server: user.Server}] = true
		}
		row := of(c.Spec.Image)
		row.Users = append(row.Users, user)
	}
	for i := range configs.Items {
		if c := &configs.Items[i]; c.Spec.Image != "" {
			of(c.Spec.Image).boots(c, claimed)
		}
	}
	p := imagesPage{Now: s.Now}
	for _, row := range rows {
		slices.SortFunc(row.Users, func(a, b imageUser) int { return cmp.Or(natural(a.Server, b.Server), natural(a.Claim, b.Claim)) })
		row.Shown = row.Users[:min(len(row.Users), mostUsers)]
		p.Rows = append(p.Rows, *row)
	}
	slices.SortFunc(p.Rows, func(a, b imageRow) int {
		return cmp.Or(cmp.Compare(len(b.Users), len(a.Users)), cmp.Compare(a.Image, b.Image))
	})
	p.cached(ctx, s)
	if len(p.Rows) > mostRows {
		p.Rows, p.More = p.Rows[:mostRows], len(p.Rows)-mostRows
	}
	return view("Images", "images", "images", p), nil
}

// boots adds what a boot configuration tells of an image.
func (r *imageRow) boots(c *metalv1.ServerBootConfiguration, claimed map[imageUser]bool) {
	if digest := c.Status.ImageDigest; digest != "" && !slices.Contains(r.Digests, digest) && len(r.Digests) < mostUsers {
		r.Digests = append(r.Digests, digest)
	}
	if v := conditionOf(c.Status.Conditions, metalv1.ConditionImageValidation); v != nil && v.Status == "False" && r.Wrong == "" {
		r.Wrong = v.Reason + ": " + v.Message
	}
	if user := (imageUser{Namespace: c.Namespace, Server: c.Spec.ServerRef.Name}); !claimed[user] {
		r.Users = append(r.Users, imageUser{Server: user.Server})
	}
}

// cached adds what the cache has.
func (p *imagesPage) cached(ctx context.Context, s Source) {
	if s.Cached == nil {
		p.NotTold = "What the cache keeps is not known here."
		return
	}
	kept, err := s.Cached(ctx)
	if err != nil {
		p.NotTold = "The cache: " + err.Error()
		return
	}
	for i := range kept {
		used := false
		for j := range p.Rows {
			if repository(p.Rows[j].Image) == kept[i].Name {
				p.Rows[j].Cached, used = &kept[i], true
			}
		}
		if !used {
			p.Unused = append(p.Unused, kept[i])
		}
	}
	p.Unused = p.Unused[:min(len(p.Unused), mostRows)]
}

// repository is an image without its tag and its digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[:colon]
	}
	return image
}
