-- Does the key of this transaction work in a namespace, as far as the key itself says? True without a key and for a key that names no
-- namespaces; grants are another matter. Reads loci.scope_namespaces, which loci.enter sets. Inlined. Called by authorize and its kin.
create or replace function loci.key_reaches(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select coalesce(p_namespace_id = any (nullif(current_setting('loci.scope_namespaces', true), '')::integer[]), true)
$$;
comment on function loci.key_reaches(integer) is 'Whether the transaction''s key works in a namespace, its agent''s grants apart. Internal.';
