-- Say no to a proposed supersession (row S7): nothing moves, and no sweep proposes the pair again. Twice is once.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, id), 22023.
create or replace function loci.dismiss_supersession(p_namespace text, p_id uuid)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text, entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text, created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
begin
    perform loci.decide_supersession(v_namespace_id, p_id, 'dismissed');
    return query select r.* from loci.supersession_rows(v_namespace_id, array[p_id]) r;
end $$;
comment on function loci.dismiss_supersession(text, uuid) is 'Dismiss a proposed supersession; returns it. Errors: 42501, P0002, 22023.';
