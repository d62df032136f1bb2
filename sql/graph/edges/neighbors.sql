-- What is directly connected to this entity? One hop of traverse, in both directions, with its columns and its checks.
create or replace function loci.neighbors(p_namespace text, p_entity text, p_limit integer default 100,
                                          p_as_of timestamptz default null,
                                          p_known_at timestamptz default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, hop integer, path text[], score double precision, ordinal integer,
               truncated text[])
language sql stable
as $$
    select t.* from loci.traverse(p_namespace, array[p_entity], p_max_hops => 1, p_limit => p_limit,
                                  p_as_of => p_as_of, p_known_at => p_known_at) t
$$;
comment on function loci.neighbors(text, text, integer, timestamptz, timestamptz) is
    'Edges of one entity (name, alias or id), both directions; columns of traverse. Errors: 42501, P0002, 22023.';
