-- Types of edges: their settings, use, and names in a text.

-- Types of edges: those that are used, and those that have settings, with how many edges are believed now and how many
-- of them have faded. Under the policies: rows of granted namespaces only.
create or replace view loci.edge_types with (security_invoker = true) as
select n.name as namespace, t.type, r.rate as decay_rate, coalesce(y.single_valued, false) as single_valued,
       y.description, y.updated_at, c.edges, c.faded
from loci_data.namespaces n
cross join lateral (select e.type from loci_data.edges e where e.namespace_id = n.id
                    union select s.type from loci_data.edge_types s where s.namespace_id = n.id) t
left join loci_data.edge_types y on y.namespace_id = n.id and y.type = t.type
cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision,
                                    (loci.default_settings() ->> 'decay_rate')::double precision) as rate,
                           coalesce((n.settings ->> 'edge_threshold')::double precision,
                                    (loci.default_settings() ->> 'edge_threshold')::double precision) as threshold) r
cross join lateral (
    select count(*) as edges,
           count(*) filter (where loci.effective_confidence(e.confidence, r.rate, e.restored_at, statement_timestamp())
                            < r.threshold) as faded
    from loci_data.edges e where e.namespace_id = n.id and e.type = t.type and e.superseded_at is null) c;
comment on view loci.edge_types is 'Types of edges with the rate of decay in force and how many edges there are.';
comment on column loci.edge_types.namespace is 'Name of the namespace.';
comment on column loci.edge_types.type is 'The predicate, such as works_on.';
comment on column loci.edge_types.decay_rate is 'Rate in force, per day.';
comment on column loci.edge_types.single_valued is 'Whether a source has at most one target of this type at a time.';
comment on column loci.edge_types.description is 'Meaning of the type.';
comment on column loci.edge_types.updated_at is 'When its settings last changed; null: it has none of its own.';
comment on column loci.edge_types.edges is 'Edges believed, faded ones included.';
comment on column loci.edge_types.faded is 'Edges among these whose confidence has fallen below the threshold.';

-- Which types of edges does a namespace use? In order of the alphabet, at most p_limit: one probe of index edges_type
-- for each type, however many edges there are. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002.
create or replace function loci_api.edge_types_used(p_namespace text, p_limit integer default 100) returns text[]
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return array(
        with recursive used(type) as (
            (select e.type from loci_data.edges e where e.namespace_id = v_ns order by e.type limit 1)
            union all
            select n.type from used u
            cross join lateral (select e.type from loci_data.edges e
                                where e.namespace_id = v_ns and e.type > u.type order by e.type limit 1) n
        )
        select u.type from used u limit p_limit);
end $$;
comment on function loci_api.edge_types_used(text, integer) is
    'Types of edges that a namespace uses. Errors: 42501, P0002.';

-- Settings of an edge type; a type without a row has the namespace's decay rate and is multi-valued. One primary key
-- look-up. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_edge_type(p_namespace text, p_type text)
returns table (type text, decay_rate double precision, single_valued boolean, description text, updated_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select c.type, loci_internal.decay_rate(v_namespace_id, c.type), coalesce(t.single_valued, false), t.description,
           t.updated_at
    from (select loci.canonical_type(p_type) as type) c
    left join loci_data.edge_types t on t.namespace_id = v_namespace_id and t.type = c.type;
end $$;
comment on function loci.get_edge_type(text, text) is
    'Decay rate in force, single_valued and description of an edge type. Errors: 42501, P0002.';

-- Types of edges of a namespace, in the order of the alphabet; cursor, on every row, is what to send for the page that
-- starts after it. Cost: reads the namespace's edges once a page. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.list_edge_types(p_namespace text, p_limit integer default 100,
                                                p_cursor text default null)
returns table (type text, decay_rate double precision, single_valued boolean, description text,
               updated_at timestamptz, edges bigint, faded bigint, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select t.type, t.decay_rate, t.single_valued, t.description, t.updated_at, t.edges, t.faded, t.type
    from loci.edge_types t
    where t.namespace = (select n.name from loci_data.namespaces n where n.id = v_namespace_id)
      and (p_cursor is null or t.type > p_cursor)
    order by t.type limit p_limit;
end $$;
comment on function loci.list_edge_types(text, integer, text) is
    'Types of edges with rates and counts, in the order of the alphabet; cursor pages. Errors: 42501, P0002, 22023.';

-- Change an edge type, which need not be used yet: {decay_rate?, single_valued?, description?}. decay_rate null
-- returns to the namespace's. A changed rate is in force for readers at once; decaying says that
-- recalculate_decay_batch has to bring edges.fades_at in step with it, in transactions of its own. Security definer:
-- writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.set_edge_type(p_namespace text, p_type text, p_changes jsonb)
returns table (type text, decay_rate double precision, single_valued boolean, description text, updated_at timestamptz,
               decaying boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_type         text := loci.canonical_type(p_type);
    v_at           timestamptz := clock_timestamp();
    v_was          double precision;
    v_wrong        text;
begin
    if coalesce(length(v_type) not between 1 and 128, true) then
        raise invalid_parameter_value using message = format('type must have 1 to 128 characters, not %L', p_type),
            column = 'type';
    end if;
    select c.key into v_wrong from jsonb_each(p_changes) c
    where case c.key
        when 'decay_rate' then case jsonb_typeof(c.value) when 'number' then c.value::numeric < 0
        or c.value::numeric > 1e9 when 'null' then false else true end
        when 'single_valued' then jsonb_typeof(c.value) <> 'boolean'
        when 'description' then jsonb_typeof(c.value) not in ('string', 'null')
        else true end
    order by c.key limit 1;
    if found then
        raise invalid_parameter_value
            using message = format('%s: %s is not valid for an edge type', v_wrong, p_changes -> v_wrong),
            column = v_wrong;
    end if;
    perform from loci_data.namespaces n where n.id = v_namespace_id for no key update;  -- changes of rates take turns
    v_was := loci_internal.decay_rate(v_namespace_id, v_type);
    insert into loci_data.edge_types as t (namespace_id, type, decay_rate, single_valued, description, updated_at)
    values (v_namespace_id, v_type, (p_changes ->> 'decay_rate')::double precision,
            coalesce((p_changes ->> 'single_valued')::boolean, false), p_changes ->> 'description', v_at)
    on conflict (namespace_id, type) do update
    set decay_rate = case when p_changes ? 'decay_rate' then excluded.decay_rate else t.decay_rate end,
        single_valued = case when p_changes ? 'single_valued' then excluded.single_valued else t.single_valued end,
        description = case when p_changes ? 'description' then excluded.description else t.description end,
        updated_at = v_at;
    if v_was <> loci_internal.decay_rate(v_namespace_id, v_type) then
        perform loci_internal.enqueue_decay_change(v_namespace_id, v_type);
    end if;
    return query select g.*, exists (select from loci_data.decay_changes c where c.namespace_id = v_namespace_id
                                     and c.type = v_type and c.finished_at is null)
                 from loci.get_edge_type(p_namespace, v_type) g;
end $$;
comment on function loci_api.set_edge_type(text, text, jsonb) is
    'Change an edge type: {decay_rate?, single_valued?, description?}; returns it, and whether '
    'recalculate_decay_batch has edges to bring in step. Errors: 42501, P0002, 22023.';

-- Which types of edges does a text name? Those of which a word has the stem of one of its words, in the language of the
-- namespace: "Who owns the Vault?" names owned_by. The first 1,000 types that the namespace uses are read: one probe
-- of edges_type a type.
create or replace function loci_internal.types_named_in_text(p_namespace_id integer, p_text text) returns text[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_language regconfig := (select n.language from loci_data.namespaces n where n.id = p_namespace_id);
    v_words    text[] := tsvector_to_array(to_tsvector(v_language, left(p_text, 10000)));
begin
    if v_words = '{}' then
        return '{}';
    end if;
    return array(
        with recursive used(type) as (
            (select e.type from loci_data.edges e where e.namespace_id = p_namespace_id order by e.type limit 1)
            union all
            select n.type from used u
            cross join lateral (select e.type from loci_data.edges e
                                where e.namespace_id = p_namespace_id and e.type > u.type order by e.type limit 1) n
        )
        select u.type from (select u.type from used u limit 1000) u
        where tsvector_to_array(to_tsvector(v_language, regexp_replace(u.type, '[^[:alnum:]]+', ' ', 'g'))) && v_words
        order by u.type);
end $$;
comment on function loci_internal.types_named_in_text(integer, text) is
    'Types of edges that a text names.';
