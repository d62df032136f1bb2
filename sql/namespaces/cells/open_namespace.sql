-- Let everybody work in a namespace that has come from another cell: its row, its feed and its locks, as the fence has
-- kept them; sequences go on behind both cells' numbers, so that the order by number stays; open jobs are queued anew,
-- and what another model of this cell has not embedded; its feed says that it has moved, behind everything else here.
-- As a superuser with session_replication_role = replica. One that is open changes nothing.
create or replace function loci_internal.open_namespace(p_carried jsonb) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_row   loci_data.namespaces := jsonb_populate_record(null::loci_data.namespaces, p_carried -> 'namespace');
    v_cell  integer := (select c.id from loci_data.cells c where c.here);
    v_job   uuid;
    v_moved uuid := loci_api.uuid7();
begin
    insert into loci_data.namespaces overriding system value select v_row.* on conflict do nothing;
    if not found then
        return;
    end if;
    insert into loci_data.feeds select (jsonb_populate_record(null::loci_data.feeds, p_carried -> 'feed')).*;
    insert into loci_data.namespace_locks
    select (jsonb_populate_record(null::loci_data.namespace_locks, l)).*
    from jsonb_array_elements(p_carried -> 'locks') l;
    perform setval(s.key::regclass, s.value::bigint + 1000)  -- room for what is drawn at this moment
    from jsonb_each_text(p_carried -> 'sequences') s
    where s.value::bigint > coalesce(pg_sequence_last_value(s.key::regclass), 0);
    perform set_config('session_replication_role', 'origin', true);
    update loci_data.jobs j set state = 'waiting', started_at = null, queue_id = null
    where j.namespace_id = v_row.id and j.finished_at is null;
    for v_job in select j.id from loci_data.jobs j where j.namespace_id = v_row.id and j.finished_at is null
                 order by j.id loop
        perform loci_internal.queue_job(v_row.id, v_job);
    end loop;
    perform loci_internal.queue_missing_vectors(v_row.id, m.id)
    from loci_data.embedding_models m
    where m.filling or m.active and (not (p_carried ->> 'vectors')::boolean
                                     or m.id is distinct from (p_carried ->> 'model')::smallint);
    insert into loci_data.namespace_cells as c (namespace_id, name, cell_id, moves)
    values (v_row.id, v_row.name, v_cell, (p_carried ->> 'moves')::integer)
    on conflict (namespace_id) do update set cell_id = excluded.cell_id, moves = excluded.moves
    where c.moves <= excluded.moves;
    insert into loci_data.operations (namespace_id, id, action, via, agent_id, started_at)
    values (v_row.id, v_moved, 'move_namespace', 'cli', loci_internal.operator_id(), clock_timestamp());
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, before, after)
    values (v_row.id, v_moved, 'namespace', 'moved',
            jsonb_build_object('name', v_row.name, 'cell', p_carried -> 'from'),
            jsonb_build_object('name', v_row.name, 'cell', v_cell));
end $$;
comment on function loci_internal.open_namespace(jsonb) is
    'Let everybody work in a namespace that has come from another cell.';
