-- Recalculate when edges fade, of one type or of all, after decay rates or the threshold changed (row G10, relation_decay).
-- Reading never needs it for time alone: decay is a function of time. Says how many edges faded and how many came back.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.decay_edges(p_namespace text, p_type text default null)
returns table (faded bigint, revived bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
begin
    return query select f.* from loci.fade_edges(v_namespace_id, p_type, clock_timestamp()) f;
end $$;
comment on function loci.decay_edges(text, text) is 'Recalculate when edges fade; counts of those that faded and came back by it. Errors: 42501, P0002.';
