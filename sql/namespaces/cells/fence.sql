-- The fence: a namespace that has moved accepts no work here, and may be let go of.

-- Let nobody work in a namespace here any more, in the transaction that has held it and everybody who writes to it:
-- its row goes, so that a foreign key refuses a writer who was let in before, and with it its feed and its locks.
-- Deleted rows are kept in the move (carried), from which the target makes them. Open jobs leave the queue. As a
-- superuser with session_replication_role = replica, so that nothing follows the row. A namespace that has gone changes
-- nothing.
create or replace function loci_internal.fence_namespace(p_namespace_id integer, p_held interval, p_vectors boolean)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_carried jsonb;
begin
    select jsonb_build_object(
        'namespace', to_jsonb(n), 'feed', (select to_jsonb(f) from loci_data.feeds f where f.namespace_id = n.id),
        'locks', (select jsonb_agg(to_jsonb(l)) from loci_data.namespace_locks l where l.namespace_id = n.id),
        'moves', (select c.moves + 1 from loci_data.namespace_cells c where c.namespace_id = n.id),
        'from', (select c.id from loci_data.cells c where c.here),
        'vectors', p_vectors, 'model', (select m.id from loci_data.embedding_models m where m.active),
        'sequences', (select jsonb_object_agg(s.oid::regclass::text, pg_sequence_last_value(s.oid))
                      from pg_catalog.pg_class s
                      where s.relnamespace = 'loci_data'::regnamespace and s.relkind = 'S'
                        and s.relname not in ('namespaces_id_seq', 'embedding_models_id_seq')))
    into v_carried
    from loci_data.namespaces n where n.id = p_namespace_id;
    if v_carried is null then
        return;
    end if;
    delete from loci_jobs.procrastinate_jobs q
    where q.id = any (array(select j.queue_id from loci_data.jobs j where j.namespace_id = p_namespace_id
                            and j.finished_at is null));
    update loci_data.namespace_moves m
    set step = 'fenced', carried = v_carried, stepped_at = clock_timestamp(), held_seconds = extract(epoch from p_held),
        token = v_carried -> 'feed' ->> 'token', last_position = (v_carried -> 'feed' ->> 'last_position')::bigint,
        places = array(select c.place
                       from (select l.position, l.place from loci_data.changes l
                             where l.namespace_id = p_namespace_id order by l.position desc limit 10000) c
                       order by c.position)
    where m.namespace_id = p_namespace_id;
    update loci_data.namespace_cells c
    set cell_id = (select m.cell_id from loci_data.namespace_moves m where m.namespace_id = p_namespace_id),
        moves = (v_carried ->> 'moves')::integer
    where c.namespace_id = p_namespace_id;
    delete from loci_data.namespace_locks l where l.namespace_id = p_namespace_id;
    delete from loci_data.feeds f where f.namespace_id = p_namespace_id;
    delete from loci_data.namespaces n where n.id = p_namespace_id;
end $$;
comment on function loci_internal.fence_namespace(integer, interval, boolean) is
    'Let nobody work in a namespace here any more: it moves to another cell.';

-- Let a namespace go that another cell has, and has moved more often: this database was set back to before its move.
-- Its row, its feed and its locks go, and the directory says where it is; rows are deleted by empty_namespace. As a
-- superuser with session_replication_role = replica, so that nothing follows.
create or replace function loci_internal.release_namespace(p_namespace_id integer, p_cell_id integer, p_moves integer)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    perform loci_internal.hold_namespace(p_namespace_id);
    delete from loci_data.namespace_locks l where l.namespace_id = p_namespace_id;
    delete from loci_data.feeds f where f.namespace_id = p_namespace_id;
    delete from loci_data.namespaces n where n.id = p_namespace_id;
    delete from loci_data.namespace_moves m where m.namespace_id = p_namespace_id;
    update loci_data.namespace_cells c set cell_id = p_cell_id, moves = p_moves where c.namespace_id = p_namespace_id;
    perform loci_internal.empty_namespace(p_namespace_id);
end $$;
comment on function loci_internal.release_namespace(integer, integer, integer) is
    'Let a namespace go that another cell has. Errors: 55000.';
