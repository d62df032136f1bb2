-- After the database was set back to an earlier moment: a reader may stand at a position that will be given out again,
-- to another change, and would miss what comes before it. With new tokens every cursor that was given out is refused
-- (24000, 410 over REST), and its reader begins anew. How many feeds there are. Rewrites a row a namespace. Security
-- invoker; for the owner.
create or replace function loci_internal.renew_feeds() returns bigint language sql volatile as $$
    with renewed as (
        update loci_data.feeds f set token = left(replace(gen_random_uuid()::text, '-', ''), 12)
        returning f.namespace_id
    )
    select count(*) from renewed
$$;
comment on function loci_internal.renew_feeds() is
    'Refuse every cursor of the change feed that was given out; the number of feeds. For the owner, after the database '
    'was set back to an earlier moment.';
