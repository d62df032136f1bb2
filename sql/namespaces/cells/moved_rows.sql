-- Rows that move with a namespace: which tables, how many rows, and their contents compared.

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

-- What does a namespace have in each table that moves? {table: [rows, a hash of all that stands in them]}, without
-- those that have none: equal in two cells where they have the same rows. A hash a row, of its columns by name, joined
-- by xor, so that no order matters: no row is there twice. p_since: only rows are hashed that a snapshot of before did
-- not see, which is many times as quick; all are counted. Types of extensions, and tsvector, have no hash: they are
-- taken by their binary form, arrays of them as text. No number of a type is hashed: each cell has others. One scan of
-- the namespace's rows a table.
create or replace function loci_internal.summarize_moved_rows(
    p_namespace_id integer, p_vectors boolean, p_since pg_snapshot default null) returns jsonb
language plpgsql stable set search_path = ''
as $$
declare
    v_first   constant oid := 16384;  -- of types that are not PostgreSQL's own
    -- An age counts from this transaction, and one that began later may have ended first.
    v_newer   constant text := case when p_since is not null then format(
        'filter (where age(t.xmin) between -1000000000 and %s or t.xmin = any (%L::xid[]))',
        age(pg_snapshot_xmax(p_since)::xid), array(select x::xid from pg_snapshot_xip(p_since) x)) end;
    v_table   regclass;
    v_columns text;
    v_rows    bigint;
    v_hash    bigint;
    v_found   jsonb := '{}';
begin
    for v_table in select t from loci_internal.moved_tables(p_vectors) t loop
        select string_agg(case when t.typtype = 'b' and t.typelem >= v_first then format('t.%I::text', a.attname)
                               when t.typtype = 'b' and t.oid >= v_first or t.typname = 'tsvector'
                               then format('%s(t.%I)', t.typsend, a.attname)
                               else format('t.%I', a.attname) end, ', ' order by a.attname)
        into v_columns
        from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = v_table and a.attnum > 0 and not a.attisdropped;
        execute format('select count(*), bit_xor(hash_record_extended(row(%s), 0)) %s from %s t
                        where namespace_id = $1', v_columns, v_newer, v_table) into v_rows, v_hash using p_namespace_id;
        if v_rows > 0 then
            v_found := v_found || jsonb_build_object(v_table::text, jsonb_build_array(v_rows, v_hash::text));
        end if;
    end loop;
    return v_found;
end $$;
comment on function loci_internal.summarize_moved_rows(integer, boolean, pg_snapshot) is
    'How many rows a namespace has in each table that moves, and a hash of what stands in those that are newer.';
