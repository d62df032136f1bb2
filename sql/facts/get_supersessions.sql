-- Decisions by id, in order of id; unknown ids are left out. Primary key look-ups. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_supersessions(p_namespace text, p_ids uuid[])
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query select r.* from loci_internal.supersession_rows(v_namespace_id, p_ids) r order by r.id;
end $$;
comment on function loci.get_supersessions(text, uuid[]) is
    'Supersessions by id. Errors: 42501, P0002.';
