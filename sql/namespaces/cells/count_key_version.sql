-- Trigger: each change of a key but its last use is a version of it, so that cells tell the newer from the older.
create or replace function loci_internal.count_key_version() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    new.version := old.version + 1;
    return new;
end $$;
comment on function loci_internal.count_key_version() is
    'Trigger: count the versions of a key.';

create or replace trigger api_keys_versions before update on loci_data.api_keys
    for each row when (new.last_used_at is not distinct from old.last_used_at)
    execute function loci_internal.count_key_version();
