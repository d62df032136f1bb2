-- Changes as list_changes shows them, with the place of each in the order of all namespaces, from which the service
-- goes on without a cursor (p_place; null: p_after says from where). Costs and errors are those of list_changes.
-- Security definer: past the policies; checks the caller itself, and that its key has not ended since the request
-- began: what was committed after that is not told to it.
create or replace function loci_api.read_changes(
    p_namespaces text[] default null, p_after text default null, p_place bigint default null,
    p_kinds text[] default null, p_limit integer default 100)
returns table (place bigint, "position" bigint, "cursor" text, namespace text, kind text, action text,
               subject_id uuid, operation_id uuid, content text, before jsonb, after jsonb, changed_at timestamptz,
               agent_id uuid, agent text, via text, more boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_ids    integer[] := loci_internal.feed_namespaces(p_namespaces);
    v_after  bigint;
    v_spaces integer[];
    v_places bigint[];
begin
    if exists (select from loci_data.api_keys k
               where k.id = nullif(current_setting('loci.key', true), '')::uuid
                 and (k.revoked_at is not null or k.expires_at <= clock_timestamp())) then
        raise invalid_authorization_specification using message = 'the API key is expired or revoked';
    end if;
    v_after := loci_internal.check_feed_question(v_ids, p_after, p_place, p_kinds, p_limit);
    if p_kinds is null then
        select array_agg(f.namespace_id order by f.place), array_agg(f.place order by f.place) into v_spaces, v_places
        from (select c.* from unnest(v_ids) n(id)
              cross join lateral (select c.namespace_id, c.place from loci_data.changes c
                                  where c.namespace_id = n.id and c.place > v_after
                                  order by c.place limit p_limit + 1) c
              order by c.place limit p_limit + 1) f;
    else
        select array_agg(f.namespace_id order by f.place), array_agg(f.place order by f.place) into v_spaces, v_places
        from (select c.* from unnest(v_ids) n(id) cross join (select distinct k from unnest(p_kinds) k) k
              cross join lateral (select c.namespace_id, c.place from loci_data.changes c
                                  where c.namespace_id = n.id and c.kind = k.k and c.place > v_after
                                  order by c.place limit p_limit + 1) c
              order by c.place limit p_limit + 1) f;
    end if;
    return query
    select r.place, r.position, loci_internal.feed_cursor(r.token, r.position), r.namespace, r.kind, r.action,
           r.subject_id, r.operation_id, r.content, r.before, r.after, r.changed_at, r.agent_id, r.agent, r.via,
           max(r.place) over () < v_places[cardinality(v_places)]
    from (select c.*, n.name as namespace, d.token, o.agent_id, a.name as agent, o.via, t.content,
                 sum(coalesce(octet_length(t.content), 0) + coalesce(pg_column_size(c.before), 0) +
                     coalesce(pg_column_size(c.after), 0))
                     over (order by c.place rows between unbounded preceding and 1 preceding) as ahead
          from unnest(v_spaces[:p_limit], v_places[:p_limit]) w(namespace_id, place)
          cross join lateral (select c.* from loci_data.changes c where c.namespace_id = w.namespace_id
                              and c.place = w.place offset 0) c
          join loci_data.namespaces n on n.id = c.namespace_id
          join loci_data.feeds d on d.namespace_id = c.namespace_id
          left join loci_data.operations o on o.namespace_id = c.namespace_id and o.id = c.operation_id
          left join loci_data.agents a on a.id = o.agent_id
          cross join lateral (
              select case c.kind
                  when 'memory' then (select m.content from loci_data.memories m where m.namespace_id = c.namespace_id
                                      and m.id = c.subject_id)
                  when 'turn' then (select u.content from loci_data.conversation_turns u
                                    where u.namespace_id = c.namespace_id
                                    and u.session_id = coalesce(c.after, c.before) ->> 'session_id'
                                    and u.id = (coalesce(c.after, c.before) ->> 'id')::bigint)
              end as content offset 0) t) r
    where coalesce(r.ahead, 0) < 4194304
    order by r.place;
end $$;
comment on function loci_api.read_changes(text[], text, bigint, text[], integer) is
    'Changes after a cursor or a place, with their places: what list_changes shows. Errors: 28000 (a key that '
    'ended meanwhile), 42501, P0002, 22023, 24000.';

-- May a reader of the change feed ask this? The kinds are ones, the page has a size, and after what it was given
-- nothing was swept: a reader must learn that it has missed something. Returns the place from which it reads. Errors:
-- 22023 (after, kind, limit), 24000 (what comes after is no longer kept).
create or replace function loci_internal.check_feed_question(p_ids integer[], p_after text, p_place bigint,
                                                             p_kinds text[], p_limit integer) returns bigint
language plpgsql stable set search_path = ''
as $$
declare
    v_kind  text := (select k from unnest(p_kinds) k where k is null
                     or k <> all (loci_internal.change_kinds()) limit 1);
    v_place bigint;
begin
    perform loci_internal.check_limit(p_limit);
    if v_kind is not null or cardinality(p_kinds) = 0 then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be one of %s, not %L', array_to_string(loci_internal.change_kinds(), ', '),
                             v_kind);
    end if;
    v_place := coalesce(p_place, loci_internal.cursor_place(p_after));
    -- no cursor is the beginning, wherever that is
    if (p_place is not null or p_after <> '0')
       and v_place < (select max(f.swept_place) from loci_data.feeds f where f.namespace_id = any (p_ids)) then
        perform loci_internal.refuse_swept(coalesce(p_after, 'what was read'));
    end if;
    return v_place;
end $$;
comment on function loci_internal.check_feed_question(integer[], text, bigint, text[], integer) is
    'Refuse what cannot be asked of the change feed; the place from which it is read.';
