"""After LangChain's retrieval tutorial: context and question behind the rules."""

from langchain_core.prompts import ChatPromptTemplate

prompt = ChatPromptTemplate.from_messages(
    [
        ("system", """You answer questions of customers.
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""),
        ("placeholder", "{history}"),
        ("human", "Context: {context}\n\nQuestion: {question}"),
    ]
)
chain = prompt | model
