-- The smallest identifier of a moment (UUID version 7), so that a time can be looked for among ids. Null for null; moments before 1970
-- have the smallest of all. Called by list_operations and sweep_operations.
create or replace function loci.uuid_floor(p_at timestamptz) returns uuid
language sql immutable strict parallel safe
return (lpad(to_hex(floor(greatest(0, least(extract(epoch from p_at) * 1000, 281474976710655)))::bigint), 12, '0') || '00000000000000000000')::uuid;
comment on function loci.uuid_floor(timestamptz) is 'The smallest UUID version 7 of a moment.';
