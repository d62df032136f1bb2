-- What has this transaction noted of an operation so far, before and after, in order? The first p_limit as JSON, what
-- is a text of its own first; more: how many others. The outbox, which is short, is read once.
create or replace function loci_internal.noted_changes(p_namespace_id integer, p_operation uuid, p_limit integer,
                                                       out changes jsonb, out more bigint)
language sql stable
as $$
    select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'action', n.action, 'subject_id', n.subject_id,
                                                 'before', n.before, 'after', n.after) order by n.nth)
                    filter (where n.nth <= p_limit), '[]'),
           greatest(count(*) - p_limit, 0)
    from (select o.*, row_number() over (order by array_position('{memory,attribute,edge,entity}', o.kind), o.id) as nth
          from loci_data.outbox o where o.namespace_id = p_namespace_id and o.operation_id = p_operation) n
$$;
comment on function loci_internal.noted_changes(integer, uuid, integer) is
    'Changes of an operation that this transaction has noted so far.';
