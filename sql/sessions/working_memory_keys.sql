-- Keys of working memory: their form, ranges, slots, and search candidates.

-- The full key that a caller means: one with `/` is a full path, one without stands under the caller's own space. A
-- path has segments that are not blank, none of them . or .., which the way over a URL would fold; at most 512
-- characters, no control characters. With p_writes a key lies within the path that the caller is bound to
-- (bound_space), and within a declared space, which can only narrow that path. Pure, but for the caller. Errors: 22023
-- (key, space), 42501 (space: a declared one outside the bound path; key: a write outside).
create or replace function loci_internal.working_memory_key(p_namespace_id integer, p_key text, p_space text,
                                                            p_writes boolean) returns text
language plpgsql stable
as $$
declare
    v_space text := loci_internal.check_space(p_space);
    v_bound text := case when p_writes or p_key not like '%/%' then loci_internal.bound_space(p_namespace_id) end;
    v_key   text := case when p_key like '%/%' then p_key
                         else coalesce(v_space, loci_internal.own_space(v_bound)) || '/' || p_key end;
    v_wrong text := case when coalesce(p_key, '') = '' then 'must not be empty'
                        when p_key !~ '^[^/]+(/[^/]+)*$'
                            then 'must be a path of non-empty segments such as session/abc/plan: no slash at either '
                                 'end, none doubled'
                        when p_key ~ '(^|/)\s+(/|$)' then 'must not have a blank segment'
                        when p_key ~ '[\u0001-\u001f\u007f-\u009f]' then 'must not contain control characters'
                        when p_key ~ '(^|/)\.\.?(/|$)' then 'must not have a segment . or ..'
                        when length(v_key) > 512 then format('must have at most 512 characters with its space, not %s',
                                                             length(v_key)) end;
begin
    if v_wrong is not null then
        raise invalid_parameter_value using column = 'key',
            message = format('key %s; it is %L', v_wrong, left(p_key, 100));
    elsif p_writes and not loci_internal.path_is_within(p_space, v_bound) then
        raise insufficient_privilege using column = 'space',
            message = format('the space %s is outside %s, where this key may write', p_space, v_bound),
            hint = 'Declare a space under it, or none; a key for another space is made with POST /api/v1/keys. Reading '
                   'needs no declaration.';
    elsif p_writes and not loci_internal.path_is_within(v_key, coalesce(p_space, v_bound)) then
        raise insufficient_privilege using column = 'key',
            message = format('%L is in the space %s/%s, and writes go to %s', left(p_key, 100),
                             split_part(v_key, '/', 1), split_part(v_key, '/', 2), coalesce(p_space, v_bound)),
            hint = 'Writes go to the space of the request, or else to that of the API key. Reading takes any.';
    end if;
    return v_key;
end $$;
comment on function loci_internal.working_memory_key(integer, text, text, boolean) is
    'Full key of an entry of working memory. Errors: 22023, 42501.';

-- Where do the keys of a prefix stand? By segments, so that session/a never has session/ab/x: the key itself, and what
-- begins with it and a slash. A null or empty prefix is everything. Two ranges of the primary key, whose order is that
-- of code points; no key has a character below the space. Pure, inlines.
create or replace function loci_internal.working_memory_key_ranges(p_prefix text)
returns table (lowest text, bound text)
language sql immutable parallel safe
as $$
    select v.lowest, v.bound
    from (values (rtrim(p_prefix, '/'), rtrim(p_prefix, '/') || E'\x01'),
          (rtrim(p_prefix, '/') || '/', rtrim(p_prefix, '/') || '0'))
         v(lowest, bound)
    where p_prefix <> ''
    union all
    select '', repeat(U&'\+10FFFF', 513) where coalesce(p_prefix, '') = ''
$$;
comment on function loci_internal.working_memory_key_ranges(text) is
    'Ranges of keys (from, before) under a prefix of whole segments.';

-- May the caller write this entry, and whose is it then? In its own space (owns_space) always. Under a key of one
-- segment a space belongs to the agent that has live entries in it, which is read and not kept, so it heals itself when
-- they expire. An admin that is bound to no space writes everywhere, for the owner where there is one. Any entry but
-- one that replaces a live one needs a free slot among working_memory_entries. The caller holds the lock of the
-- space. Expired entries are deleted first: that waits for an owner who renews one at this moment, so that it is
-- counted. Two ranges of the primary key. Errors: 42501, 53400 (key).
create or replace function loci_internal.reserve_working_memory_slot(p_namespace_id integer, p_key text, p_space text,
                                                                     p_now timestamptz) returns uuid
language plpgsql volatile
as $$
declare
    v_agent uuid := loci.current_agent();
    v_own   boolean := loci_internal.owns_space(p_namespace_id, p_space);
    v_owner uuid;
    v_live  bigint;
    v_limit integer;
begin
    delete from loci_data.working_memory w
    where w.namespace_id = p_namespace_id and w.expires_at <= p_now and w.key = any (array(
        select o.key from loci_internal.working_memory_key_ranges(p_space) r
        cross join lateral (select d.key from loci_data.working_memory d
                            where d.namespace_id = p_namespace_id and d.key >= r.lowest and d.key < r.bound
                              and d.key <> p_key and d.expires_at <= p_now
                            offset 0) o));
    select count(*) filter (where w.key <> p_key),
           (array_agg(w.agent_id order by w.stored_at, w.key) filter (where w.agent_id <> v_agent))[1]
    into v_live, v_owner
    from loci_internal.working_memory_key_ranges(p_space) r
    cross join lateral (select o.* from loci_data.working_memory o
                        where o.namespace_id = p_namespace_id and o.key >= r.lowest and o.key < r.bound
                          and o.expires_at > p_now offset 0) w;
    if not v_own and v_owner is not null and not loci_internal.is_admin(p_namespace_id) then
        raise insufficient_privilege using column = 'key',
            message = format('the space %s belongs to another agent, which has live entries in it', p_space),
            hint = 'Write under a space of your own; any space may be read. An admin may write here.';
    end if;
    v_limit := loci_internal.settings(p_namespace_id) ->> 'working_memory_entries';
    if v_live >= v_limit then
        raise configuration_limit_exceeded using column = 'key',
            message = format('the space %s holds %s live entries, and the limit is %s', p_space, v_live, v_limit),
            hint = 'Delete entries, overwrite one, wait until one expires, or raise the namespace''s setting '
                   'working_memory_entries.';
    end if;
    return case when v_own then v_agent else coalesce(v_owner, v_agent) end;
end $$;
comment on function loci_internal.reserve_working_memory_slot(integer, text, text, timestamptz) is
    'Owner of an entry that the caller may write. Errors: 42501, 53400.';

-- Which entries of working memory may answer a question, by words or by meaning? The best p_limit by words, at least
-- 100, with their BM25 score; and as many of the newest, without one. Filtered as search_working_memory. text: what is
-- to be embedded, at most 1,000 characters. Cost: twice that of search_working_memory. Security definer: the function
-- called checks the caller. Errors: 42501, P0002, 22023 (limit, space).
create or replace function loci_api.working_memory_candidates(
    p_namespace text, p_query text, p_category text default null, p_tags text[] default null,
    p_prefix text default null, p_limit integer default 10, p_space text default null)
returns table (key text, score double precision, stored_at timestamptz, text text)
language sql stable security definer set search_path = ''
as $$
    select w.key, max(w.score), max(w.stored_at),
           left(loci_internal.working_memory_text(w.key, w.value, w.category, w.tags), 1000)
    from (select s.* from loci.search_working_memory(p_namespace, p_query, p_category, p_tags, p_prefix,
                                                     greatest(p_limit, 100), p_space) s
          union all
          select s.* from loci.search_working_memory(p_namespace, null, p_category, p_tags, p_prefix,
                                                     greatest(p_limit, 100), p_space) s) w
    group by w.key, w.value, w.category, w.tags
$$;
comment on function loci_api.working_memory_candidates(text, text, text, text[], text, integer, text) is
    'Live entries that may answer a question: the best by BM25, and the newest; with the text to embed. Errors: 42501, '
    'P0002, 22023.';

-- Entries of these full keys that live, in no order. A look-up each. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002.
create or replace function loci_api.working_memory_entries(p_namespace text, p_keys text[])
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_now timestamptz := clock_timestamp();
begin
    return query
    select w.key, w.space, w.value, w.category, w.tags, w.stored_at, w.expires_at
    from unnest(p_keys) k(key)
    cross join lateral (select o.* from loci_data.working_memory o
                        where o.namespace_id = v_ns and o.key = k.key collate "C" and o.expires_at > v_now limit 1) w;
end $$;
comment on function loci_api.working_memory_entries(text, text[]) is
    'Live entries of working memory by their full keys. Errors: 42501, P0002.';

-- Note a write to working memory where the namespace asks for it (setting log_working_memory; by default it does not:
-- scratch of agents comes and goes a thousand times a second). Key, category, tags and expiry are noted; the value
-- stands with the entry while it lives. One probe of a primary key. That an entry expires is no change.
create or replace function loci_internal.log_working_memory_write(
    p_namespace_id integer, p_action text, p_key text, p_category text default null, p_tags text[] default null,
    p_expires_at timestamptz default null)
returns void
language plpgsql volatile
as $$
begin
    if (select coalesce(n.settings -> 'log_working_memory', loci.default_settings() -> 'log_working_memory') = 'true'
        from loci_data.namespaces n where n.id = p_namespace_id) then
        perform loci_internal.log_change(p_namespace_id, 'working_memory', p_action, null, case
                                         when p_action <> 'created' then jsonb_build_object('key', p_key) end,
            case when p_action <> 'erased' then
                jsonb_build_object('key', p_key, 'category', p_category, 'tags', p_tags, 'expires_at', p_expires_at)
                    end);
    end if;
end $$;
comment on function loci_internal.log_working_memory_write(integer, text, text, text, text[], timestamptz) is
    'Note a write to working memory, if the namespace asks for it.';
