-- The aliases that an entity keeps: in order, as first written, none twice, none equal to the name itself, none empty.
-- Pure. Called by describe_entities and update_entity.
create or replace function loci.clean_aliases(p_aliases text[], p_canonical_name text) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(a.alias order by a.place), '{}')
    from (select distinct on (loci.canonical_name(u.alias)) btrim(u.alias) as alias, u.place
          from unnest(p_aliases) with ordinality u(alias, place)
          where loci.canonical_name(u.alias) not in (p_canonical_name, '')
          order by loci.canonical_name(u.alias), u.place) a
$$;
comment on function loci.clean_aliases(text[], text) is 'Aliases without repetitions and without the canonical name.';
