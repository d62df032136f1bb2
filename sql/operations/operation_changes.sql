-- What did an operation change? Its changes in the order of the feed, before and after, a page at a time: p_after is
-- the position of the last one of the page before. A memory's content stands with it, not with the change: content is
-- that of now. Changes that wait for their position are not here yet (loci_api.sequence_changes gives it); those past
-- the
-- setting change_days are gone, and the counts stay. Index changes_operation. Security definer: reads past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.operation_changes(p_namespace text, p_id uuid, p_limit integer default 100,
                                                  p_after bigint default 0)
returns table ("position" bigint, kind text, action text, subject_id uuid, content text, before jsonb, after jsonb,
               changed_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    if not exists (select from loci_data.operations o where o.namespace_id = v_ns and o.id = p_id) then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id';
    end if;
    return query
    select c.position, c.kind, c.action, c.subject_id, m.content, c.before, c.after, c.changed_at
    from (select o.* from loci_data.changes o
          where o.namespace_id = v_ns and o.operation_id = p_id and o.position > coalesce(p_after, 0)
          order by o.position limit p_limit) c
    left join lateral (select s.content from loci_data.memories s
                       where c.kind = 'memory' and s.namespace_id = v_ns and s.id = c.subject_id limit 1) m on true
    order by c.position;
end $$;
comment on function loci.operation_changes(text, uuid, integer, bigint) is
    'Changes of an operation, before and after, in order; the position of the last one pages. Errors: 42501, P0002, '
    '22023.';
