-- Trigger: a category with a segment of white space alone is refused. As a trigger, and not as a constraint of the
-- table, because memories that were kept before keep theirs. Errors: 23514.
create or replace function loci_internal.refuse_blank_category() returns trigger
language plpgsql
as $$
begin
    raise check_violation using constraint = 'memories_category_check', column = 'category',
        message = format('category must not have a blank segment; it is %L', new.category);
end $$;
comment on function loci_internal.refuse_blank_category() is
    'Trigger: refuse categories with blank segments.';

create or replace trigger memories_category_added before insert on loci_data.memories
    for each row when (new.category ~ '(^|/)\s+(/|$)') execute function loci_internal.refuse_blank_category();
create or replace trigger memories_category_changed before update on loci_data.memories
    for each row when (new.category ~ '(^|/)\s+(/|$)' and new.category is distinct from old.category)
    execute function loci_internal.refuse_blank_category();
