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
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz)
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
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz)
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
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz)
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
