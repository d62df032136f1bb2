-- Tables whose rows move with a namespace by replication: all with its number but what is known in every cell (grants,
-- invitations, the directory), what stays (moves, and uses of keys, which this database numbers), what has no log
-- (turn_locks), and feeds and namespace_locks, which are carried last: without them nobody works in a namespace.
-- p_vectors false: without what belongs to an embedding model, where the other cell has others.
create or replace function loci_internal.moved_tables(p_vectors boolean default true) returns setof regclass
language sql stable set search_path = ''
as $$
    select c.oid::regclass
    from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'namespace_id' and not a.attisdropped
    where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relpersistence = 'p'
      and c.relname not in ('feeds', 'grants', 'invitations', 'key_uses', 'namespace_cells', 'namespace_locks',
                            'namespace_moves')
      and (p_vectors or not exists (select from pg_catalog.pg_attribute v where v.attrelid = c.oid
                                    and v.attname = 'model_id' and not v.attisdropped))
    order by c.relname
$$;
comment on function loci_internal.moved_tables(boolean) is
    'Tables whose rows move with a namespace.';

-- How many rows has a namespace in each of them? {table: rows}, without those that have none.
create or replace function loci_internal.count_moved_rows(p_namespace_id integer) returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
    v_table  regclass;
    v_count  bigint;
    v_counts jsonb := '{}';
begin
    for v_table in select t from loci_internal.moved_tables() t loop
        execute format('select count(*) from %s where namespace_id = $1', v_table) into v_count using p_namespace_id;
        if v_count > 0 then
            v_counts := v_counts || jsonb_build_object(v_table::text, v_count);
        end if;
    end loop;
    return v_counts;
end $$;
comment on function loci_internal.count_moved_rows(integer) is
    'How many rows a namespace has in each table.';

-- Delete the rows of a namespace that is not here, or not yet. With session_replication_role = replica, so that nothing
-- is noted and no order is kept. Errors: 55000 (it is here).
create or replace function loci_internal.empty_namespace(p_namespace_id integer) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_table regclass;
begin
    if exists (select from loci_data.namespaces n where n.id = p_namespace_id) then
        raise object_not_in_prerequisite_state using
            message = format('namespace %s is here: its rows stay', p_namespace_id);
    end if;
    for v_table in select t from loci_internal.moved_tables() t loop
        execute format('delete from %s where namespace_id = $1', v_table) using p_namespace_id;
    end loop;
    delete from loci_data.key_uses u where u.namespace_id = p_namespace_id;
end $$;
comment on function loci_internal.empty_namespace(integer) is
    'Delete the rows of a namespace that is in another cell. Errors: 55000.';

-- How many bytes are its rows, without indexes? As they are stored, so about what is copied. Reads every row.
create or replace function loci_internal.measure_moved_rows(p_namespace_id integer) returns numeric
language plpgsql volatile set search_path = ''
as $$
declare
    v_table regclass;
    v_bytes bigint;
    v_all   numeric := 0;
begin
    for v_table in select t from loci_internal.moved_tables() t loop
        execute format('select coalesce(sum(pg_column_size(t)), 0) from %s t where namespace_id = $1', v_table)
            into v_bytes using p_namespace_id;
        v_all := v_all + v_bytes;
    end loop;
    return v_all;
end $$;
comment on function loci_internal.measure_moved_rows(integer) is
    'How many bytes the rows of a namespace are, without indexes.';
