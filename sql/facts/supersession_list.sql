-- Lists of supersessions.

-- Decisions by id, in order of id; unknown ids are left out. Primary key look-ups. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_supersessions(p_namespace text, p_ids uuid[])
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query select r.* from loci_internal.supersession_rows(v_namespace_id, p_ids) r order by r.id;
end $$;
comment on function loci.get_supersessions(text, uuid[]) is
    'Supersessions by id. Errors: 42501, P0002.';

-- Refuse a status or a signal that no decision has. Errors: 22023.
create or replace function loci_internal.check_supersession_filter(p_status text, p_signal text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    if p_status not in ('proposed', 'applied', 'dismissed', 'undone') then
        raise invalid_parameter_value
            using message = format('status must be proposed, applied, dismissed or undone, not %L', p_status),
            column = 'status';
    elsif p_signal not in ('negation', 'antonym', 'value_conflict', 'temporal_marker', 'model', 'single_valued',
                           'replaced') then
        raise invalid_parameter_value using column = 'signal',
            message = format('signal must be negation, antonym, value_conflict, temporal_marker, model, '
                             'single_valued or replaced, not %L', p_signal);
    end if;
end $$;
comment on function loci_internal.check_supersession_filter(text, text) is
    'Refuse a status or a signal that no decision about facts has.';

-- Find the decisions whose older fact, or older edge, is an entity's. Index look-ups.
create or replace function loci_internal.supersessions_of_entity(p_namespace_id integer, p_entity_id uuid)
returns setof uuid
language sql stable set search_path = ''
as $$
    select s.id from loci_data.aspects p
    join loci_data.attributes a on a.namespace_id = p_namespace_id and a.aspect_id = p.id
    join loci_data.supersessions s on s.namespace_id = p_namespace_id and s.older_id = a.id
    where p.namespace_id = p_namespace_id and p.entity_id = p_entity_id
    union
    select s.id from loci_data.edges e
    join loci_data.supersessions s on s.namespace_id = p_namespace_id and s.older_edge_id = e.id
    where e.namespace_id = p_namespace_id and e.source_id = p_entity_id
$$;
comment on function loci_internal.supersessions_of_entity(integer, uuid) is
    'Decisions about the facts and edges of an entity.';

-- What superseded what, and why? Decisions of a namespace, newest first, a page at a time; of one status, signal or
-- entity if asked. cursor, on every row, is what to send for the page that starts after it. Walks the primary key or
-- supersessions_status backwards; of an entity: all of its attributes' and edges' decisions. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity), 22023 (status, signal, limit, cursor).
create or replace function loci.list_supersessions(
    p_namespace text, p_status text default null, p_signal text default null, p_entity text default null,
    p_limit integer default 50, p_cursor text default null)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array_remove(array[p_entity], null),
                                                           'entity'))[1];
    v_of_entity    uuid[];
    v_ids          uuid[];
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    perform loci_internal.check_supersession_filter(p_status, p_signal);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    if v_entity_id is not null then
        v_of_entity := array(select loci_internal.supersessions_of_entity(v_namespace_id, v_entity_id));
    end if;
    v_ids := array(
        select s.id from loci_data.supersessions s
        where s.namespace_id = v_namespace_id and s.id < v_before
          and (p_status is null or case when s.status <> 'applied' or s.newer_id is null then s.status = p_status
               else p_status = (select case when loci_internal.decision_is_idle(a) then 'dismissed' else 'applied' end
                                from loci_data.attributes a where a.namespace_id = v_namespace_id
                                and a.id = s.newer_id) end)
          and (p_status is null or s.status in (p_status, case p_status when 'dismissed' then 'applied' end))
          and (p_signal is null or s.signal = p_signal)
          and (v_of_entity is null or s.id = any (v_of_entity))
        order by s.id desc limit p_limit);
    return query select r.*, loci_internal.make_cursor(jsonb_build_array(r.id))
        from loci_internal.supersession_rows(v_namespace_id, v_ids) r order by r.id desc;
end $$;
comment on function loci.list_supersessions(text, text, text, text, integer, text) is
    'Supersessions, newest first, by status, signal or entity; cursor pages. Errors: 42501, P0002, 22023.';

-- Decisions as the API shows them: both contents, with the entity and aspect that they are about; one is dismissed as
-- long as its newer attribute does not hold (decision_is_idle); of edges, their types
-- and targets, and when in valid time the older one ended. Look-ups by primary key.
create or replace function loci_internal.supersession_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz)
language sql stable parallel safe
as $$
    select s.id, case when s.status = 'applied' and loci_internal.decision_is_idle(n) then 'dismissed'
               else s.status end, s.signal, s.confidence, s.evidence, s.origin, e.id, e.name, p.id, p.name, o.id,
           o.content, n.id, n.content,
           s.created_at, s.decided_at, s.decided_by, s.undone_at, s.ended_at
    from loci_data.supersessions s
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.older_id offset 0) o
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.newer_id offset 0) n
    cross join lateral (select a.* from loci_data.aspects a where a.namespace_id = p_namespace_id
                        and a.id = o.aspect_id offset 0) p
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = p_namespace_id
                        and i.id = p.entity_id offset 0) e
    where s.namespace_id = p_namespace_id and s.id = any (p_ids) and s.ended_at is null
    union all
    select s.id, s.status, s.signal, s.confidence, s.evidence, s.origin, o.source_id, o.source, null, null, o.id,
           concat_ws(' ', o.type, o.target), n.id, concat_ws(' ', n.type, n.target),
           s.created_at, s.decided_at, s.decided_by, s.undone_at, s.ended_at
    from loci_data.supersessions s
    cross join lateral loci_internal.edge_names(p_namespace_id, s.older_edge_id) o
    cross join lateral loci_internal.edge_names(p_namespace_id, s.newer_edge_id) n
    where s.namespace_id = p_namespace_id and s.id = any (p_ids) and s.ended_at is not null
$$;
comment on function loci_internal.supersession_rows(integer, uuid[]) is
    'Supersessions by id, in the columns that the API shows.';

-- Does an attribute that would supersede another hold at no moment, so that it ends nothing? It is deleted, or its
-- memory is forgotten or was corrected. Inlines.
create or replace function loci_internal.decision_is_idle(p_newer loci_data.attributes) returns boolean
language sql immutable parallel safe
as $$
    select p_newer.taken_back_at is not null or coalesce(p_newer.own_to = p_newer.valid_from, false)
$$;
comment on function loci_internal.decision_is_idle(loci_data.attributes) is
    'Whether the newer attribute of a decision holds at no moment.';

-- An edge by the names of its ends, which may be those of merged entities. Primary keys. Inlines.
create or replace function loci_internal.edge_names(p_namespace_id integer, p_id uuid)
returns table (id uuid, source_id uuid, source text, type text, target text)
language sql stable parallel safe
as $$
    select e.id, s.id, s.name, e.type, coalesce(t.name, e.literal)
    from loci_data.edges e
    join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
    left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
    where e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci_internal.edge_names(integer, uuid) is
    'An edge by the names of its ends.';
