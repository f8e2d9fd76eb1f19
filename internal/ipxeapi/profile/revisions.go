package profile

// ObserveProfiles has changed told of every change of a profile: of the revision that is served from now on, and of the one before
// whose configs still are; nil: there is none. It is called in the order of the changes and while a lock is held: it must be quick, must not wait for
// anybody, and must not ask the view. ObserveProfiles is called once, before the first profile.
func (v *View) ObserveProfiles(changed func(namespace, name string, now, before *Profile)) {
	v.changed = changed
}

// PutProfile adds a profile, in place of the one of the same name.
func (v *View) PutProfile(p *Profile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := p.key()
	old := v.profiles[key]
	switch {
	case old == nil:
		v.set(key, p, nil)
	case old.Revision != p.Revision:
		v.set(key, p, old)
	case old.Version != p.Version:
		// The same script of newer objects: what is remembered of its renderings holds.
		p.refused.Store(old.refused.Load())
		v.set(key, p, v.before[key])
	}
}

// BreakProfile says that a profile was edited into one that cannot be served. Its assignments have no script then; a machine that
// was given the one before still gets its configs.
func (v *View) BreakProfile(namespace, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := profileKey{namespace, name}
	if old := v.profiles[key]; old != nil {
		v.set(key, nil, old)
	}
}

// DeleteProfile removes a profile and its configs.
func (v *View) DeleteProfile(namespace, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := profileKey{namespace, name}
	if v.profiles[key] != nil || v.before[key] != nil {
		v.set(key, nil, nil)
	}
}

// SetProfile says what a profile is, nil: there is none, whatever it was; the revision before stays what it is.
func (v *View) SetProfile(namespace, name string, now *Profile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := profileKey{namespace, name}
	v.set(key, now, v.before[key])
}

// SetProfileBefore says which revision of a profile was the one before, nil: there is none; the present one stays what it is.
func (v *View) SetProfileBefore(namespace, name string, before *Profile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := profileKey{namespace, name}
	v.set(key, v.profiles[key], before)
}

// set makes a profile what it is from now on. The caller holds mu.
func (v *View) set(key profileKey, now, before *Profile) {
	v.forget(v.profiles[key])
	v.forget(v.before[key])
	keep(v.profiles, key, now)
	keep(v.before, key, before)
	v.remember(before)
	v.remember(now)
	if v.changed != nil {
		v.changed(key.namespace, key.name, now, before)
	}
}

func keep(revisions map[profileKey]*Profile, key profileKey, p *Profile) {
	if p == nil {
		delete(revisions, key)
		return
	}
	revisions[key] = p
}

func (v *View) remember(p *Profile) {
	if p == nil {
		return
	}
	for name, id := range p.ids {
		v.owners[id] = owner{p.key(), name}
	}
}

func (v *View) forget(p *Profile) {
	if p == nil {
		return
	}
	for _, id := range p.ids {
		if v.owners[id].profile == p.key() {
			delete(v.owners, id)
		}
	}
}
