-- UUIDs of version 7.

-- A new identifier that sorts by time: UUID version 7 (RFC 9562), with the microsecond in the sub-millisecond bits, so
-- that rows of one statement keep their order. PostgreSQL has one of its own from 18 on.
do $do$
begin
    if to_regprocedure('pg_catalog.uuidv7()') is not null then
        create or replace function loci_api.uuid7() returns uuid language sql volatile parallel safe
        return uuidv7();
    else
        create or replace function loci_api.uuid7() returns uuid language sql volatile parallel safe
        return (
            with clock as (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as microseconds)
            select encode(
                substring(int8send(microseconds / 1000) from 3)
                || substring(int4send((28672 + (microseconds % 1000) * 4096 / 1000)::int) from 3)
                || set_byte(substring(uuid_send(gen_random_uuid()) from 9), 0,
                            (get_byte(uuid_send(gen_random_uuid()), 0) & 63) | 128), 'hex')::uuid
            from clock
        );
    end if;
end $do$;
comment on function loci_api.uuid7() is
    'New UUID version 7 (RFC 9562), ordered by the time of the call to the microsecond.';
