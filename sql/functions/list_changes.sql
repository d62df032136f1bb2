-- What has changed since (row X4)? Changes after a position, oldest first, of the namespaces named (null: the caller's only one, or default; {*}:
-- all that the caller may read), of some kinds or of all. A memory's content and a turn's are joined now: null once they were erased.
-- Later calls go on after the last position, or after that of feed_bounds where there are no more. A page ends early at 4 MiB; `more` says that one ended.
-- Index only: primary key, or changes_kind; one range for each namespace and kind, merged by position, then the rows of the page.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (after, kind, limit), 24000 (after: swept).
create or replace function loci.list_changes(
    p_namespaces text[] default null, p_after bigint default 0, p_kinds text[] default null, p_limit integer default 100)
returns table ("position" bigint, namespace text, kind text, action text, subject_id uuid, operation_id uuid, content text,
               before jsonb, after jsonb, changed_at timestamptz, agent_id uuid, agent text, via text, more boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_ids    integer[] := loci.feed_scope(p_namespaces);
    v_spaces integer[];
    v_places bigint[];
begin
    perform loci.check_feed(v_ids, p_after, p_kinds, p_limit);
    if p_kinds is null then
        select array_agg(f.namespace_id order by f.position), array_agg(f.position order by f.position) into v_spaces, v_places
        from (select c.* from unnest(v_ids) n(id)
              cross join lateral (select c.namespace_id, c.position from loci_data.changes c
                                  where c.namespace_id = n.id and c.position > p_after order by c.position limit p_limit + 1) c
              order by c.position limit p_limit + 1) f;
    else
        select array_agg(f.namespace_id order by f.position), array_agg(f.position order by f.position) into v_spaces, v_places
        from (select c.* from unnest(v_ids) n(id) cross join (select distinct k from unnest(p_kinds) k) k
              cross join lateral (select c.namespace_id, c.position from loci_data.changes c
                                  where c.namespace_id = n.id and c.kind = k.k and c.position > p_after order by c.position limit p_limit + 1) c
              order by c.position limit p_limit + 1) f;
    end if;
    return query
    select r.position, r.namespace, r.kind, r.action, r.subject_id, r.operation_id, r.content, r.before, r.after, r.changed_at,
           r.agent_id, r.agent, r.via, max(r.position) over () < v_places[cardinality(v_places)]
    from (select c.*, n.name as namespace, o.agent_id, a.name as agent, o.via, t.content,
                 sum(coalesce(octet_length(t.content), 0) + coalesce(pg_column_size(c.before), 0) + coalesce(pg_column_size(c.after), 0))
                     over (order by c.position rows between unbounded preceding and 1 preceding) as ahead
          from unnest(v_spaces[:p_limit], v_places[:p_limit]) w(namespace_id, place)
          cross join lateral (select c.* from loci_data.changes c where c.namespace_id = w.namespace_id and c.position = w.place offset 0) c
          join loci_data.namespaces n on n.id = c.namespace_id
          left join loci_data.operations o on o.namespace_id = c.namespace_id and o.id = c.operation_id
          left join loci_data.agents a on a.id = o.agent_id
          cross join lateral (
              select case c.kind
                  when 'memory' then (select m.content from loci_data.memories m where m.namespace_id = c.namespace_id and m.id = c.subject_id)
                  when 'turn' then (select u.content from loci_data.conversation_turns u where u.namespace_id = c.namespace_id
                                    and u.session_id = coalesce(c.after, c.before) ->> 'session_id' and u.id = (coalesce(c.after, c.before) ->> 'id')::bigint)
              end as content offset 0) t) r
    where coalesce(r.ahead, 0) < 4194304
    order by r.position;
end $$;
comment on function loci.list_changes(text[], bigint, text[], integer) is 'The change feed: what has changed after a position, oldest first, by namespace and kind. Errors: 42501, P0002, 22023, 24000.';
