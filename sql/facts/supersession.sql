-- Supersession: one fact ends another, by rule or by decision.

-- Let two edges of a type with one target at a time hold beside each other (undone), although one had ended the other,
-- or not any more (applied). Their spells follow. Errors: 22023 (another change; an edge is no longer current).
create or replace function loci_internal.decide_edge_supersession(p_namespace_id integer, p_id uuid, p_status text)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made loci_data.supersessions;
    v_edge uuid;
    v_at   timestamptz;
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = (
        select i.source_id from loci_data.supersessions s join loci_data.edges i on i.namespace_id = p_namespace_id
            and i.id = loci_internal.current_edge_id(p_namespace_id, s.older_edge_id)
        where s.namespace_id = p_namespace_id and s.id = p_id) for no key update;
    select s.* into v_made from loci_data.supersessions s where s.namespace_id = p_namespace_id and s.id = p_id
        for update;
    if v_made.status = p_status then
        return;
    elsif (v_made.status, p_status) not in (('applied', 'undone'), ('undone', 'applied')) then
        raise invalid_parameter_value
            using message = format('this supersession of an edge is %s and cannot become %s', v_made.status, p_status),
            column = 'id', hint = 'What is applied can be undone, and what was undone can be accepted again.';
    end if;
    v_edge := loci_internal.current_edge_id(p_namespace_id, v_made.older_edge_id);
    if v_edge is null or loci_internal.current_edge_id(p_namespace_id, v_made.newer_edge_id) is null then
        raise invalid_parameter_value using column = 'id',
            message = format('edge %s is no longer current', case when v_edge is null then v_made.older_edge_id
                             else v_made.newer_edge_id end);
    end if;
    v_at := clock_timestamp();
    update loci_data.supersessions s
    set status = p_status, decided_at = v_at, decided_by = loci.current_agent(), undone_at = case p_status
        when 'undone' then v_at end
    where s.namespace_id = p_namespace_id and s.id = p_id;
    perform loci_internal.refold_edges(p_namespace_id, array[v_edge], v_at);
end $$;
comment on function loci_internal.decide_edge_supersession(integer, uuid, text) is
    'Let two edges hold beside each other, or not any more. Errors: 22023.';

-- Change the status of a decision by hand: one table says which change is possible, and what it does to the older
-- attribute.
--   to applied    from proposed, dismissed, undone: the older attribute ends where the newer one begins; refused where
--            it is over by then, or one of the two does not hold any more
--   to undone     from applied: the older ends where it does without it
--   to dismissed  from proposed, undone: nothing moves
-- Of edges, applied may become undone, and undone applied: the two hold beside each other, or not. To the status it
-- has: nothing. The aspect (the source) is locked, then the decision, then attributes, as everywhere. Errors: P0002,
-- 22023, 23P01 (nothing would come of it).
create or replace function loci_internal.decide_supersession(p_namespace_id integer, p_id uuid, p_status text)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_made loci_data.supersessions;
    v_at   timestamptz;
begin
    if exists (select from loci_data.supersessions s where s.namespace_id = p_namespace_id and s.id = p_id
               and s.ended_at is not null) then
        perform loci_internal.decide_edge_supersession(p_namespace_id, p_id, p_status);
        return;
    end if;
    perform from loci_data.aspects p where p.namespace_id = p_namespace_id and p.id = (
        select a.aspect_id from loci_data.supersessions s join loci_data.attributes a
            on a.namespace_id = p_namespace_id and a.id = s.older_id
        where s.namespace_id = p_namespace_id and s.id = p_id) for no key update;
    select s.* into v_made from loci_data.supersessions s where s.namespace_id = p_namespace_id and s.id = p_id
        for update;
    if not found then
        raise no_data_found using message = format('supersession %s does not exist', p_id), column = 'id';
    elsif v_made.status = p_status then
        return;
    elsif (p_status = 'undone' and v_made.status <> 'applied')
        or (p_status = 'dismissed' and v_made.status = 'applied') then
        raise invalid_parameter_value
            using message = format('this supersession is %s and cannot become %s', v_made.status, p_status),
            column = 'id',
            hint = 'What is applied can be undone; what is proposed can be accepted or dismissed.';
    end if;
    v_at := clock_timestamp();
    if p_status = 'applied' then
        perform loci_internal.refuse_idle_decision(p_namespace_id, v_made);
    end if;
    update loci_data.supersessions s
    set status = p_status, decided_at = v_at, decided_by = loci.current_agent(), undone_at = case p_status
        when 'undone' then v_at end
    where s.namespace_id = p_namespace_id and s.id = p_id;
    perform loci_internal.refold_facts(p_namespace_id, array[v_made.older_id], v_at);
end $$;
comment on function loci_internal.decide_supersession(integer, uuid, text) is
    'Change the status of a supersession by hand, and what it does. Errors: P0002, 22023, 23P01.';

-- A decision that would change nothing is refused: the newer attribute holds at no moment, or the older one is over
-- where that begins. Errors: 23P01, which names what stands in the way.
create or replace function loci_internal.refuse_idle_decision(p_namespace_id integer, p_made loci_data.supersessions)
returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_older loci_data.attributes;
    v_newer loci_data.attributes;
begin
    select a.* into v_older from loci_data.attributes a where a.namespace_id = p_namespace_id
        and a.id = p_made.older_id;
    select a.* into v_newer from loci_data.attributes a where a.namespace_id = p_namespace_id
        and a.id = p_made.newer_id;
    if v_newer.taken_back_at is not null or v_newer.own_to = v_newer.valid_from then
        raise exclusion_violation using column = 'id', constraint = 'supersessions_idle',
            message = format('attribute %s no longer holds', v_newer.id),
            hint = 'Only what holds can supersede another.';
    elsif v_older.taken_back_at is not null
        or v_older.valid_to <= greatest(v_newer.valid_from, v_older.valid_from) then
        raise exclusion_violation using column = 'id', constraint = 'supersessions_idle',
            message = format('attribute %s is not active any more', v_older.id)
                || case when v_older.superseded_by is not null
                   then format(': attribute %s superseded it', v_older.superseded_by) else '' end,
            hint = 'Only an attribute that holds where the newer one begins can be superseded.';
    end if;
end $$;
comment on function loci_internal.refuse_idle_decision(integer, loci_data.supersessions) is
    'Refuse a supersession that would change nothing. Errors: 23P01.';

-- Accept a proposed supersession, or take back that it was dismissed or undone: the older attribute is superseded.
-- Twice is once. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace,
-- id), 22023.
create or replace function loci_api.apply_supersession(p_namespace text, p_id uuid)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    perform loci_internal.decide_supersession(v_namespace_id, p_id, 'applied');
    return query select r.* from loci_internal.supersession_rows(v_namespace_id, array[p_id]) r;
end $$;
comment on function loci_api.apply_supersession(text, uuid) is
    'Accept a supersession; returns it. Errors: 42501, P0002, 22023, 23P01.';

-- Say no to a proposed supersession: nothing moves, and no sweep proposes the pair again. Twice is once. Security
-- definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, id), 22023.
create or replace function loci_api.dismiss_supersession(p_namespace text, p_id uuid)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    perform loci_internal.decide_supersession(v_namespace_id, p_id, 'dismissed');
    return query select r.* from loci_internal.supersession_rows(v_namespace_id, array[p_id]) r;
end $$;
comment on function loci_api.dismiss_supersession(text, uuid) is
    'Dismiss a proposed supersession; returns it. Errors: 42501, P0002, 22023.';

-- Take an applied supersession back: the older attribute is active again and valid as before; no sweep supersedes the
-- pair again. Twice is once. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002
-- (namespace, id), 22023.
create or replace function loci_api.undo_supersession(p_namespace text, p_id uuid)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text, aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid,
               newer text, created_at timestamptz, decided_at timestamptz, decided_by uuid, undone_at timestamptz,
               ended_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    perform loci_internal.decide_supersession(v_namespace_id, p_id, 'undone');
    return query select r.* from loci_internal.supersession_rows(v_namespace_id, array[p_id]) r;
end $$;
comment on function loci_api.undo_supersession(text, uuid) is
    'Undo an applied supersession; returns it. Errors: 42501, P0002, 22023.';

-- Decide what a fact supersedes, and by what it is superseded, record each decision, and act on it: mode apply, or null
-- for the namespace's setting; propose only records. An unsure finding (find_contradictions) is proposed in either
-- mode. A fact has one successor: the first by valid_from. In mode apply, what was proposed before and is found again
-- is applied. p_since: pairs alone of which the other was recorded after it. superseded: attributes; proposed:
-- decisions. The aspect is locked by the caller.
create or replace function loci_internal.supersede_siblings(p_namespace_id integer, p_attribute_id uuid, p_origin text,
                                                            p_mode text, p_except uuid, p_at timestamptz,
                                                            p_since timestamptz default null)
returns table (superseded uuid[], proposed uuid[], applied uuid[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_mode     text := coalesce(p_mode, v_settings ->> 'supersession');
    v_older    uuid[];
begin
    superseded := '{}';
    proposed := '{}';
    applied := '{}';
    if v_mode <> 'off' then
        with found as (
            select distinct on (f.older_id) f.*, case when v_mode = 'apply' and f.sure then 'applied'
                else 'proposed' end as status
            from loci_internal.find_contradictions(p_namespace_id, p_attribute_id, v_settings, p_origin = 'sweep') f
            where f.older_id is distinct from p_except and f.newer_id is distinct from p_except
              and (p_since is null or exists (
                   select from loci_data.attributes o where o.namespace_id = p_namespace_id
                   and o.id in (f.older_id, f.newer_id) and o.id <> p_attribute_id and o.recorded_at > p_since))
            order by f.older_id, f.sure desc, f.newer_from, f.newer_id
        ), decided as (
            insert into loci_data.supersessions as s (namespace_id, id, older_id, newer_id, signal, confidence,
                                                      evidence, origin, status, created_at,
                                                      decided_at, decided_by)
            select p_namespace_id, loci_api.uuid7(), f.older_id, f.newer_id, f.signal, f.confidence, f.evidence,
                   p_origin, f.status, p_at,
                   case f.status when 'applied' then p_at end, case f.status
                       when 'applied' then loci.current_agent() end
            from found f order by f.older_id
            on conflict on constraint supersessions_pair_key do update
            set status = excluded.status, decided_at = excluded.decided_at, decided_by = excluded.decided_by
            where s.status = 'proposed' and excluded.status = 'applied'
            returning s.id, s.older_id, s.status
        )
        select coalesce(array_agg(d.id) filter (where d.status = 'applied'), '{}'),
               coalesce(array_agg(d.id) filter (where d.status = 'proposed'), '{}'),
               coalesce(array_agg(d.older_id) filter (where d.status = 'applied'), '{}')
        into applied, proposed, v_older from decided d;
        superseded := loci_internal.refold_facts(p_namespace_id, v_older, p_at);
    end if;
    return next;
end $$;
comment on function loci_internal.supersede_siblings(integer, uuid, text, text, uuid, timestamptz, timestamptz) is
    'Record and apply the supersessions that an attribute is part of.';
