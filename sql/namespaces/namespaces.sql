-- Namespaces: made, changed, listed, deleted.

-- Make the namespace that a write names, if it does not exist; nothing where the caller may not, so that the refusal is
-- that of every unknown namespace. The operator may, and an agent that is admin at its home, with a key that is limited
-- neither in scope nor to namespaces; it is the new one's admin. Two writers at once make one. A probe of the unique
-- name. Errors: 23514 (name).
create or replace function loci_internal.create_named_namespace(p_name text) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_agent    uuid := loci.current_agent();
    v_operator boolean := loci_internal.is_operator();
    v_id       integer;
begin
    if exists (select from loci_data.namespaces n where n.name = p_name)
        or exists (select from loci_data.namespace_cells c where c.name = p_name)
        or not v_operator and (coalesce(current_setting('loci.scope_namespaces', true), '') <> ''
                               or not exists (select from loci_data.agents a
                                              where a.id = v_agent and loci_internal.is_admin(a.home_id))) then
        return;
    end if;
    insert into loci_data.namespaces (name) values (p_name) on conflict (name) do nothing returning id into v_id;
    if v_id is not null and not v_operator then
        perform loci_internal.give_grant(v_id, v_agent, 'admin', null, true);
    end if;
end $$;
comment on function loci_internal.create_named_namespace(text) is
    'Make the namespace that a write names, where the caller may. Errors: 23514.';

-- A new namespace; whoever makes it is its admin. Only the operator may, because a namespace is a world of its own.
create or replace function loci_api.create_namespace(p_name text, p_description text default null,
                                                     p_language text default 'english', p_settings jsonb default '{}')
returns integer
language plpgsql volatile security definer set search_path = 'pg_catalog'
as $$
declare
    v_id integer;
begin
    perform loci_internal.require_operator('create a namespace');
    perform loci_internal.check_settings(p_settings);
    insert into loci_data.namespaces (name, description, language, settings)
    values (p_name, p_description, loci_internal.text_language(p_language), p_settings) returning id into v_id;
    return v_id;
end $$;
comment on function loci_api.create_namespace(text, text, text, jsonb) is
    'Create a namespace. Operator only. Errors: 42501, 23505 (name taken), 23514 (name), 22023 (language, settings).';

-- Remove a namespace and everything in it, in one transaction. Admin. Cascades follow the foreign keys. Background work
-- on it is waited for and held off (hold_namespace).
create or replace function loci_api.delete_namespace(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.hold_namespace(v_ns);
    -- Evidence first: a foreign key of rows written in this same transaction is checked again when its edge goes.
    delete from loci_data.edge_observations where namespace_id = v_ns;
    delete from loci_data.namespaces where id = v_ns;
end $$;
comment on function loci_api.delete_namespace(text) is
    'Delete a namespace and everything in it. Admin. Errors: 42501, P0002.';

-- Change description and settings of a namespace; settings are merged, null takes one back to its default. A change of
-- decay_rate or edge_threshold is in force for readers at once; recalculate_decay_batch brings edges.fades_at in step
-- with it.
create or replace function loci_api.update_namespace(p_namespace text, p_changes jsonb) returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_was jsonb;
begin
    perform from loci_data.namespaces n where n.id = v_ns for no key update;  -- changes of rates take turns
    v_was := loci_internal.settings(v_ns);
    perform loci_internal.check_settings(coalesce(p_changes -> 'settings', '{}'));
    update loci_data.namespaces n
    set description = case when p_changes ? 'description' then p_changes ->> 'description' else n.description end,
        settings = jsonb_strip_nulls(n.settings || coalesce(p_changes -> 'settings', '{}')),
        updated_at = clock_timestamp()
    where n.id = v_ns;
    if (v_was ->> 'decay_rate', v_was ->> 'edge_threshold') <> (loci_internal.settings(v_ns) ->> 'decay_rate',
                                                                loci_internal.settings(v_ns) ->> 'edge_threshold') then
        perform loci_internal.enqueue_decay_change(v_ns, null);
    end if;
    return exists (select from loci_data.decay_changes c where c.namespace_id = v_ns and c.type = ''
                   and c.finished_at is null);
end $$;
comment on function loci_api.update_namespace(text, jsonb) is
    'Merge changes {description, settings} into a namespace; whether recalculate_decay_batch has edges to bring in '
    'step. Admin. Errors: 42501, P0002, 22023.';

-- The namespaces that the caller may read, by name, with their settings in force, the caller's role and their sizes.
-- p_name asks for one. Entities and edges that only forgotten memories show do not count. Counts are index-only scans
-- of each namespace listed.
create or replace function loci.list_namespaces(p_name text default null, p_limit integer default 100,
                                                p_cursor text default null)
returns table (name text, description text, language text, role text, settings jsonb, memories bigint,
               current_memories bigint, entities bigint, edges bigint, pending_embeddings bigint, pending_names bigint,
               created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids integer[] := loci.readable_namespaces();
begin
    if p_name is not null then
        v_ids := array[loci_internal.authorize(p_name, 'reader')];
    end if;
    return query
    select n.name, n.description, c.cfgname::text,
           loci_internal.scoped_role(
               coalesce((select g.role from loci_data.grants g where g.namespace_id = n.id
                         and g.agent_id = loci.current_agent()), 'admin')),
           loci_internal.settings(n.id),
           (select count(*) from loci_data.memories m where m.namespace_id = n.id),
           (select count(*) from loci_data.memories m where m.namespace_id = n.id
            and loci.holds_at(m, statement_timestamp(), null)),
           (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.merged_into is null)
               - (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.hidden
                  and e.merged_into is null),
           (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null)
               - (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null
                  and e.valid_to = e.valid_from),
           (select count(*) from loci_data.embedding_queue q where q.model_id = a.id and q.namespace_id = n.id
            and q.error is null)
               + (select count(*) from loci_data.entity_queue q where q.model_id = a.id and q.namespace_id = n.id
                  and q.error is null),
           (select count(*) from loci_data.name_queue q where q.namespace_id = n.id),
           n.created_at, n.updated_at
    from (select * from loci_data.namespaces s where s.id = any (v_ids) and (p_cursor is null or s.name > p_cursor)
          order by s.name limit p_limit) n
    join pg_catalog.pg_ts_config c on c.oid = n.language
    left join loci_data.embedding_models a on a.active
    order by n.name;
end $$;
comment on function loci.list_namespaces(text, integer, text) is
    'Readable namespaces with role, settings in force and counts, by name; one if named. Errors: 42501, P0002.';

-- How has a namespace grown? Of each of the last p_weeks weeks (they begin on Monday, UTC; the last is that of p_now),
-- oldest first: versions of memories written in it, and how many there were at its end. Memories that were erased since
-- are in neither. Index memories_recorded, the range of the namespace once. Security definer: past the policies; checks
-- the caller itself. Errors: 42501, P0002, 22023 (weeks).
create or replace function loci.namespace_growth(p_namespace text, p_weeks integer default 26,
                                                 p_now timestamptz default now())
returns table (week date, written bigint, memories bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'reader');
    v_last date;
begin
    if p_weeks is null or p_weeks not between 1 and 520 then
        raise invalid_parameter_value using message = 'weeks must be between 1 and 520', column = 'weeks';
    elsif p_now is null or not isfinite(p_now) then
        raise invalid_parameter_value using message = 'now must be a finite time', column = 'now';
    end if;
    v_last := date_trunc('week', p_now at time zone 'UTC')::date;
    return query
    with counted as materialized (
        select greatest(date_trunc('week', m.recorded_at at time zone 'UTC')::date, v_last - 7 * p_weeks) as week,
               count(*) as written
        from loci_data.memories m
        where m.namespace_id = v_ns and m.recorded_at < (v_last + 7)::timestamp at time zone 'UTC' group by 1
    )
    select v_last - 7 * g.back, coalesce(c.written, 0),
           (select coalesce(sum(b.written), 0)::bigint from counted b where b.week <= v_last - 7 * g.back)
    from generate_series(0, p_weeks - 1) g(back)
    left join counted c on c.week = v_last - 7 * g.back
    order by 1;
end $$;
comment on function loci.namespace_growth(text, integer, timestamptz) is
    'Memories written in each week, and how many there were at its end. Errors: 42501, P0002, 22023.';
