-- May this operation be undone, and what kinds of things did it change? Its row is locked: of two who undo it, the
-- second finds it undone; a transaction of it that still runs is waited for (ensure_operation). Refused is what was
-- undone
-- already; an undo or a redo that is out of date, because what it undid was undone or done again by another since; what
-- deleted for good; an operation whose changes are not kept any more; keys. From here on this transaction is an
-- operation of its own, which undoes the other. Kinds are without what stays as it is (turns, working memory, keys,
-- invitations). Errors:
-- P0002, 23505.
create or replace function loci_internal.begin_undo(p_namespace_id integer, p_id uuid, out kinds text[],
                                                    out stays jsonb)
language plpgsql volatile set search_path = ''
as $$
declare
    v_made  loci_data.operations;
    v_first loci_data.operations;
    v_by    uuid;
    v_noted jsonb;
begin
    select o.* into v_made from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = p_id for update;
    if not found then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id';
    end if;
    if v_made.action = 'move_namespace' then
        raise unique_violation using column = 'id',
            message = format('operation %s moved the namespace to this cell', p_id),
            hint = 'Move it back with `loci namespace move`.';
    end if;
    select o.* into v_first from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = v_made.undoes
        for update;
    v_by := coalesce(v_made.undone_by, case when v_first.undone_by <> p_id then v_first.undone_by end, (
        select o.undone_by from loci_data.operations o where o.namespace_id = p_namespace_id
            and o.id = v_first.undoes));
    if v_made.undone_by is not null or v_made.undoes is not null
        and (v_first.undone_by is distinct from p_id or v_by is not null) then
        raise unique_violation using column = 'id', hint = 'Undo the newest operation that is in force.',
            message = format(
            case when v_made.undone_by is not null then 'operation %s was undone already, by operation %s'
                 else 'operation %s is out of date: what it undid was undone or done again, by operation %s' end, p_id,
                 v_by);
    end if;
    v_noted := loci_internal.changed_kinds(p_namespace_id, p_id);
    if v_noted ? 'erased' then
        raise unique_violation using column = 'id',
            message = format('operation %s deleted for good: %s; that cannot be undone', p_id, v_noted ->> 'erased');
    elsif v_noted ? 'swept' then
        raise unique_violation using column = 'id',
            message = format('the changes of operation %s are no longer stored (setting change_days)', p_id);
    end if;
    kinds := array(select k.kind from jsonb_object_keys(v_noted -> 'kinds') k(kind)
                   where k.kind <> all ('{turn,working_memory,key,invitation}') order by 1);
    stays := (select coalesce(jsonb_object_agg(k.key, k.value), '{}') from jsonb_each(v_noted -> 'kinds') k
              where k.key in ('turn', 'working_memory', 'key', 'invitation'));
    if kinds = '{}' and stays <> '{}' then
        raise unique_violation using column = 'id',
            message = format('nothing that operation %s changed can be undone: %s', p_id, (
            select string_agg(k, ', ' order by k) from jsonb_object_keys(stays) k)),
            hint = 'Turns are a log, working memory expires, keys are revoked or made anew, and invitations are '
                   'withdrawn or made anew.';
    end if;
    if exists (select from loci_data.operations o where o.namespace_id = p_namespace_id
               and o.id = loci_internal.current_operation_id()) then
        -- this transaction has done something else before
        perform set_config('loci.operation', loci_api.uuid7()::text, true);
    end if;
    perform set_config('loci.undoes', p_id::text, true);
    perform loci_internal.ensure_operation(p_namespace_id);
end $$;
comment on function loci_internal.begin_undo(integer, uuid) is
    'Lock an operation that is to be undone, and begin the one that does it; the kinds of things that it changed. '
    'Errors: P0002, 23505.';

-- Which kinds of things did an operation change? {kinds: {kind: count}}; erased: kinds of which it deleted something
-- for good; swept: true where some of its changes are not kept any more. Index changes_operation.
create or replace function loci_internal.changed_kinds(p_namespace_id integer, p_operation uuid) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.kind, x.action, sum(x.count) as count, sum(x.moved) as moved from (
            select c.kind, c.action, count(*) as count, count(*) as moved from loci_data.changes c
            where c.namespace_id = p_namespace_id and c.operation_id = p_operation group by c.kind, c.action
            union all
            select o.kind, o.action, count(*), 0 from loci_data.outbox o
            where o.namespace_id = p_namespace_id and o.operation_id = p_operation group by o.kind, o.action) x
        group by x.kind, x.action
    )
    select jsonb_strip_nulls(jsonb_build_object(
        'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}')
                  from (select n.kind, sum(n.count) as count from noted n group by n.kind) k),
        'erased', (select string_agg(n.kind, ', ' order by n.kind) from noted n
                   where n.action = 'erased' and n.kind <> all ('{turn,working_memory,key,grant,invitation}')),
        'swept', (select true where (select coalesce(sum(t.count), 0) from loci_data.operation_counts t
                                     where t.namespace_id = p_namespace_id and t.operation_id = p_operation)
                                    > (select coalesce(sum(n.moved), 0) from noted n))))
$$;
comment on function loci_internal.changed_kinds(integer, uuid) is
    'Kinds of things that an operation changed.';
