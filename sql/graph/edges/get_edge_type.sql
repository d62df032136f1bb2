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
